"""Policies that are functions, of one infoset or of a batch."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tensorcfr import Policy, compile_game, evaluate, solve
from tensorcfr.formats import Batch, Batched, find_policy
from tensorcfr.model.infoset import Infoset

GAME = compile_game("leduc")


@cache
def solved() -> Policy:
    """Solved by a test: every process imports this file, and would compile the kernels."""
    return solve(GAME, iters=20).policy


def rows(batch: Batch) -> np.ndarray:
    """The policy as a matrix of probabilities."""
    found = np.zeros(batch.legal.shape)
    for row, infoset in zip(found, batch.infosets, strict=True):
        row[: len(infoset.actions)] = list(solved()[infoset].values())
    return found


class Tensor:
    """What a network of PyTorch answers with: on a graph, and on a device."""

    def __init__(self, numbers: np.ndarray, *, on_graph: bool = True, on_device: bool = True):
        self.numbers, self.on_graph, self.on_device = numbers, on_graph, on_device

    def detach(self) -> Tensor:
        return Tensor(self.numbers, on_graph=False, on_device=self.on_device)

    def cpu(self) -> Tensor:
        return Tensor(self.numbers, on_graph=self.on_graph, on_device=False)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self.on_graph or self.on_device:
            raise RuntimeError("call detach() and cpu() first")
        return self.numbers


SOURCES: dict[str, Any] = {
    "mapping for each infoset": lambda infoset: solved()[infoset],
    "numbers in order": lambda infoset: list(solved()[infoset].values()),
    "array": lambda infoset: np.array(list(solved()[infoset].values())),
    "batches": Batched(rows),
    "batches of 7": Batched(rows, size=7),
    "tensors": Batched(lambda batch: Tensor(rows(batch))),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_functions_are_the_policies_that_they_compute(source: Any) -> None:
    assert find_policy(GAME, source) == solved()
    assert evaluate(GAME, source) == evaluate(GAME, solved())


def test_an_infoset_is_its_label_and_knows_the_rest() -> None:
    seen: list[Infoset] = []
    find_policy(GAME, lambda infoset: seen.append(infoset) or solved()[infoset])
    assert seen == list(GAME.infoset_labels)
    assert [infoset.actions for infoset in seen] == list(GAME.infoset_actions)
    assert [infoset.player for infoset in seen] == GAME.infoset_player.tolist()


def test_single_precision_is_normalised() -> None:
    found = find_policy(GAME, Batched(lambda batch: rows(batch).astype(np.float32)))
    assert np.abs(found.probabilities - solved().probabilities).max() < 1e-7
    sums = [sum(found[label].values()) for label in found]
    assert np.abs(np.array(sums) - 1).max() < 1e-15


def test_networks_with_a_column_for_each_action_of_the_game() -> None:
    names = sorted({action for actions in GAME.infoset_actions for action in actions})

    def columns(infoset: Infoset) -> list[int]:
        return [names.index(action) for action in infoset.actions]

    def network(batch: Batch) -> np.ndarray:
        found = np.zeros(batch.legal.shape)
        for row, infoset in zip(found, batch.infosets, strict=True):
            row[columns(infoset)] = list(solved()[infoset].values())
        return found

    assert find_policy(GAME, Batched(network, columns=columns)) == solved()


@pytest.mark.full
def test_a_network_of_jax() -> None:
    jax = pytest.importorskip("jax")
    weights = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)

    def features(infosets: list[Infoset]) -> list[list[float]]:
        return [[float(len(infoset)), float(infoset.player)] for infoset in infosets]

    def network(batch: Batch) -> Any:
        logits = jax.numpy.where(batch.legal, batch.features @ weights, -jax.numpy.inf)
        return jax.nn.softmax(logits, axis=1)

    def one(infoset: Infoset) -> np.ndarray:
        logits = np.array(features([infoset])[0]) @ weights[:, : len(infoset.actions)]
        powers = np.exp(logits - logits.max())
        return powers / powers.sum()

    found = find_policy(GAME, Batched(network, features))
    expected = find_policy(GAME, one)
    assert np.abs(found.probabilities - expected.probabilities).max() < 1e-6


def uneven(batch: Batch) -> np.ndarray:
    found = rows(batch)
    found[5, 0] += 0.1
    return found


FIFTH = GAME.infoset_labels[5]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda infoset: [1.0], "has 2 actions, call, raise, but its .* shape \\(1,\\)"),
        (lambda infoset: None, "has 2 actions"),
        (lambda: None, "the policy failed at infoset 'Js': .* takes 0 positional"),
        (lambda infoset: "a", "must be numbers, not 'a'"),
        (lambda infoset: {"check": 1.0}, "has no action 'check'; "),
        (lambda infoset: [2.0, -1.0, 0.0][: len(infoset.actions)], "are not a distribution"),
        (lambda infoset: [np.nan] * len(infoset.actions), "are not a distribution"),
        (lambda infoset: [0.4] * len(infoset.actions), "are not a distribution"),
        (Batched(uneven), f"infoset {FIFTH!r} are not a distribution"),
        (Batched(lambda batch: rows(batch) * np.nan), "no action there|not a distribution"),
        (Batched(lambda batch: rows(batch)[1:]), "the answer for 936 infosets has the shape"),
        (Batched(lambda batch: rows(batch)[:, :1]), "has the shape \\(936, 1\\), not \\(936, 3\\)"),
        (Batched(lambda batch: batch.legal * 0 + 1 / 3), "to columns with no action there"),
        (Batched(lambda batch: "a"), "must be numbers"),
        (Batched(rows, lambda infosets: [[1.0]]), "the features of 936 infosets have the shape"),
        (Batched(rows, columns=lambda infoset: [0]), "has 2 actions, but its columns are \\[0\\]"),
        (Batched(rows, columns=lambda infoset: [0, 0, 0]), "but its columns are"),
        (
            Batched(rows, columns=lambda infoset: range(-1, len(infoset.actions) - 1)),
            "has 2 actions, but its columns are \\[-1, 0\\]",
        ),
        (Batched(rows, size=0), "size must be a whole number >= 1"),
    ],
)
def test_errors_name_the_infoset(source: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(GAME, source)


def test_uncompiled_solutions_are_evaluated_on_the_compiled_game() -> None:
    found = solve("leduc", "external_sampling", iters=30, seed=1).policy
    assert len(found) < GAME.n_infosets
    policy = find_policy(GAME, found)
    uniform = Policy.uniform(GAME)
    for label in GAME.infoset_labels:
        expected = found[label] if label in found else uniform[label]
        assert policy[label].keys() == expected.keys()
        assert all(abs(p - expected[action]) < 1e-9 for action, p in policy[label].items())
