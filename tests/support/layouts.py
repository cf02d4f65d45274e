"""Policies of a game in chunks beside those of the same game laid out, and where chunks begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from tensorcfr import CompiledGame, FlatGame, Policy, Solver
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.model.card_structure import DEAL


def numbers_of(game: CompiledGame, flat: FlatGame) -> np.ndarray:
    """For every sequence of the flat game, where it lies in the policies of a game in chunks; int64
    (sequences,).  By the listing of infosets, not by their look-up."""
    found = np.empty(flat.n_sequences, dtype=np.int64)
    found[flat.form.player_sequences[:-1]] = game.chunks.trunk.player_sequences[:-1]
    for player in range(game.n_players):
        for rows in game.rows(player):
            for label, numbers in zip(rows.labels, rows.numbers, strict=True):
                found[flat.sequences(flat.infoset_index[label])] = numbers
    return found


def laid_out(policy: Policy, flat: FlatGame) -> Policy:
    """A policy of a game in chunks as one of the same game laid out."""
    return Policy(flat, policy.probabilities[numbers_of(policy.game, flat)])


def in_chunks(policy: Policy, game: CompiledGame) -> Policy:
    """A policy of a flat game as one of the same game in chunks, by label."""
    rows = policy.to_dict()
    return Policy.from_rows(
        game, lambda label, actions: np.array([rows[label][a] for a in actions])
    )


def check_found(game: CompiledGame) -> None:
    """Assert that infosets are where the flat game has them, and that all of them are listed."""
    flat, where = game.flat(), np.arange(game.n_numbers)
    numbers = numbers_of(game, flat)
    for label in flat.infoset_labels:
        at, infoset = game.locate(label), flat.infoset_index[label]
        assert at.label == label
        assert at.actions == flat.infoset_actions[infoset]
        assert at.player == flat.infoset_player[infoset]
        assert where[at.numbers].tolist() == numbers[flat.sequences(infoset)].tolist()
    for wrong in ("", "no such label", f"{flat.infoset_labels[0]} and then"):
        if wrong not in flat.infoset_index:
            with pytest.raises(KeyError):
                game.locate(wrong)
    for player in range(game.n_players):
        listed = list(game.labels_of(player))
        assert sorted(listed) == sorted(flat.labels_of(player))
        assert len(listed) == game.count_of(player) == flat.count_of(player)


@lru_cache(maxsize=16)
def numbers_of_both(one: CompiledGame, other: CompiledGame) -> tuple[np.ndarray, np.ndarray]:
    """Where the actions of the same infosets lie in the policies of two games; asserts that both
    games have the same infosets."""
    here, there = [], []
    for player in range(one.n_players):
        numbers = {
            label: row
            for rows in other.rows(player)
            for label, row in zip(rows.labels, rows.numbers, strict=True)
        }
        for rows in one.rows(player):
            here.append(rows.numbers.ravel())
            same = np.array([numbers.pop(label) for label in rows.labels])
            assert same.shape == rows.numbers.shape
            there.append(same.ravel())
        assert not numbers
    return np.concatenate(here), np.concatenate(there)


def farthest(one: Policy, other: Policy) -> float:
    """The largest difference of two policies of games with the same infosets."""
    if one.game is other.game:
        return float(np.abs(one.probabilities - other.probabilities).max())
    here, there = numbers_of_both(one.game, other.game)
    return float(np.abs(one.probabilities[here] - other.probabilities[there]).max())


def same_strategies(one: Solver, other: Solver) -> float:
    """The largest difference between the averages, and between the last iterates."""
    return max(
        farthest(one.average_policy(), other.average_policy()),
        farthest(one.current_policy(), other.current_policy()),
    )


def step_alike(
    one: Solver, other: Solver, counts: Sequence[int], strategies: float = 1e-12
) -> None:
    """Assert that strategies and evaluations of two solvers agree after each step."""
    for count in counts:
        one.iterate(count)
        other.iterate(count)
        assert same_strategies(one, other) <= strategies
        for found, expected in (
            (one.evaluate(), other.evaluate()),
            (one.evaluate_current(), other.evaluate_current()),
        ):
            for name in ("values", "best_responses"):
                np.testing.assert_allclose(
                    getattr(found, name), getattr(expected, name), rtol=0, atol=1e-12
                )


def ways_to_cards(game: CompiledGame) -> list[list[tuple[Any, ...]]]:
    """For each card, the steps from the root to the nodes after it is dealt: the chunks of a game
    of cards with one deal, in their order."""
    nodes = CardNodes.of(game)
    betting = nodes.betting
    lines = []
    for node in np.flatnonzero(betting.kind == DEAL).tolist():
        steps = []
        while node:
            steps.append(betting.step[node])
            node = int(betting.parent[node])
        lines.append(tuple(steps[::-1]))
    return [[(*line, card) for line in lines] for card in nodes.rules.cards]


def assert_same_solves(
    one: Solver, other: Solver, counts: Sequence[int] = (1, 1, 1, 7), tolerance: float = 1e-12
) -> None:
    """Average strategies, values and best responses agree after so many iterations, and so many
    more."""
    for count in counts:
        one.iterate(count)
        other.iterate(count)
        assert farthest(one.average_policy(), other.average_policy()) <= tolerance
        found, expected = one.evaluate(), other.evaluate()
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=tolerance)
        np.testing.assert_allclose(
            found.best_responses, expected.best_responses, rtol=0, atol=tolerance
        )
