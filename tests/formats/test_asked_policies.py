"""Policies that are asked for their strategies chunk by chunk, against the same game laid out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomSuits
from support.layouts import laid_out
from support.tiers import tiered
from tensorcfr import CompiledGame, Policy, compile_game, evaluate
from tensorcfr.evaluation import Evaluation, profile
from tensorcfr.formats import Batch, Batched, ByLine, Situation, find_policy
from tensorcfr.kernels.pass_arrays import plain_numbers
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.solvers.solver_state import strategies_from_weights

TOLERANCE = 1e-12
SUITS: dict[str, dict[str, Any]] = {
    "one card": {"ranks": 3, "suits": 2, "width": 1, "rounds": 1, "deals": (2, 1, 1, 1)},
    "two boards": {"ranks": 3, "suits": 2, "width": 1, "rounds": 2},
    "two cards": {"ranks": 2, "suits": 4, "width": 2, "rounds": 1, "deals": (2, 1, 1, 1)},
}


@cache
def rules_of(name: str) -> RandomSuits:
    """Random rules with chunks, in which both players act."""
    for seed in range(100):
        rules = RandomSuits(seed, **SUITS[name])
        game = compile_game(rules)
        assert isinstance(game, ChunkedGame)
        acts = {int(player) for player in game.nodes.betting.player if player >= 0}
        if acts == {0, 1} and game.chunks.n_chunks > 1:
            return rules
    raise AssertionError(name)


def random_policy(game: CompiledGame, seed: int) -> Policy:
    """Random strategies, which are alike where the game merges suits."""
    numbers = np.random.default_rng(seed).random(game.n_numbers)
    return Policy(game, strategies_from_weights(game.chunks, plain_numbers(numbers), 0.0, None))


def by_label(label: str, actions: int) -> np.ndarray:
    """Strategies that a label stands for, suits and all."""
    weight = np.random.default_rng(list(label.encode())).random(actions) + 0.01
    return weight / weight.sum()


def close(found: Evaluation, expected: Evaluation) -> bool:
    return bool(
        np.allclose(found.values, expected.values, rtol=0, atol=TOLERANCE)
        and np.allclose(found.best_responses, expected.best_responses, rtol=0, atol=TOLERANCE)
    )


def lines_of(policy: Policy) -> Callable[[Situation], np.ndarray]:
    """A policy as a function of board and line."""
    nodes, places = policy.game.nodes, {}
    assert nodes is not None
    for player in range(2):
        for node in nodes.decisions(player):
            board, line = nodes.seen(node)
            places[player, tuple(sorted(board)), board[-1:], line] = node

    def rows(situation: Situation) -> np.ndarray:
        board = situation.board
        layout = nodes.layout(
            places[situation.player, tuple(sorted(board)), board[-1:], situation.line]
        )
        found = np.full((len(situation.hands), len(situation.actions)), np.nan)
        hands = np.flatnonzero(situation.possible)
        found[hands] = policy.at(layout.numbers(hands))
        return found

    return rows


def batches_of(policy: Policy) -> Callable[[Batch], np.ndarray]:
    """A policy as a function of batches of infosets."""

    def rows(batch: Batch) -> np.ndarray:
        found = np.zeros(batch.legal.shape)
        for row, infoset in zip(found, batch.infosets, strict=True):
            row[: len(infoset.actions)] = list(policy[infoset].values())
        return found

    return rows


@pytest.mark.parametrize("name", tiered(SUITS, ["one card"]))
def test_the_same_policy_in_every_form(name: str) -> None:
    """Arrays, functions of one infoset, of batches and of lines; laid out and hand by hand."""
    game = compile_game(rules_of(name))
    flat = game.flat()
    for seed in range(2):
        policy = random_policy(game, seed)
        expected = evaluate(game, policy)
        assert close(expected, evaluate(flat, laid_out(policy, flat)))
        forms: dict[str, Any] = {
            "infosets": lambda infoset, policy=policy: policy[infoset],
            "batches": Batched(batches_of(policy)),
            "columns": Batched(batches_of(policy), columns=lambda one: range(len(one.actions))),
            "lines": ByLine(lines_of(policy)),
            "lines, suits alike": ByLine(lines_of(policy), symmetric=True),
        }
        for form, source in forms.items():
            assert close(evaluate(game, source), expected), form
            found = find_policy(game, source)
            for player in range(2):
                for rows in game.rows(player):
                    off = np.abs(found.at(rows.numbers) - policy.at(rows.numbers))
                    assert off.max() <= TOLERANCE, (form, rows.labels[0])


@pytest.mark.parametrize("name", tiered(SUITS, ["one card"]))
def test_a_policy_that_sees_suits(name: str) -> None:
    """It is refused where suits are merged, whichever way it is asked; without merging it is the
    policy of the game hand by hand."""
    rules = rules_of(name)

    def lines(situation: Situation) -> np.ndarray:
        label = " ".join((*situation.board, *situation.line))
        rows = [by_label(hand + label, len(situation.actions)) for hand in situation.hands]
        return np.array(rows)

    def boards(situation: Situation) -> np.ndarray:
        label = " ".join((*sorted(situation.board), *situation.line))
        row = by_label(label, len(situation.actions))
        return np.tile(row, (len(situation.hands), 1))

    def infosets(infoset: Any) -> np.ndarray:
        return by_label(infoset, len(infoset.actions))

    merged = compile_game(rules)
    for source in (lines, boards, infosets):
        for symmetric in (False, True):
            given: Any = source if source is infosets else ByLine(source, symmetric)
            with pytest.raises(
                ValueError, match=r"plays them differently: compile the game with symmetry=F"
            ):
                evaluate(merged, given)
    apart, flat = compile_game(rules, symmetry=False), merged.flat()
    assert close(evaluate(apart, infosets), evaluate(flat, infosets))
    of_lines = find_policy(apart, ByLine(lines))
    assert close(evaluate(apart, ByLine(lines)), evaluate(flat, laid_out(of_lines, flat)))


def test_lines_of_a_public_tree() -> None:
    """In a game of one's own hands, cut or laid out: the cards that chance shows are the board."""
    flat, cut = compile_game("leduc"), compile_game("leduc", cut=3)
    assert cut.chunks.n_chunks
    seen = []

    def rows(situation: Situation) -> np.ndarray:
        seen.append(situation)
        public = " ".join((*(card[0] for card in situation.board), *situation.line))
        actions = len(situation.actions)
        return np.array([by_label(f"{hand[0]} {public}", actions) for hand in situation.hands])

    assert close(evaluate(cut, ByLine(rows)), evaluate(flat, ByLine(rows)))
    assert {len(one.board) for one in seen} == {0, 1}
    assert all(one.possible.any() for one in seen)


def test_chunks_are_asked_for_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategies of some chunks are asked for after those before have been judged."""
    game = compile_game(rules_of("two cards"))
    policy, asked, done = random_policy(game, 1), [], []
    lines = lines_of(policy)

    def rows(situation: Situation) -> np.ndarray:
        asked.append((situation.board, len(done)))
        return lines(situation)

    source = ByLine(rows, symmetric=True)
    expected = evaluate(game, policy)
    monkeypatch.setattr(profile, "TOGETHER", 1)
    found = evaluate(game, source, progress=lambda chunks, of: done.append((chunks, of)))
    assert close(found, expected)
    chunks = game.chunks.n_chunks
    assert done == [(chunk, chunks) for chunk in range(1, chunks + 1)]
    assert all(board for board, after in asked if after)
    boards = len(game.nodes.symmetry.rounds[-1].board)
    # One board of each kind, and another one as a check.
    assert len({board for board, _ in asked if board}) <= 2 * boards


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda one: np.ones((1, 1)), r"the probabilities at .* have the shape \(1, 1\), not \("),
        (lambda one: np.ones((len(one.hands), len(one.actions))), r"are not a distribution"),
        (lambda one: "a", "the probabilities at .start. must be numbers, not .a."),
        (lambda: None, "the policy failed at 'start': .* takes 0 positional"),
    ],
)
def test_errors_name_the_infoset(answer: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(compile_game("leduc"), ByLine(answer))


def test_games_without_public_nodes_are_refused() -> None:
    with pytest.raises(ValueError, match="has no public tree: give a function of one infoset"):
        evaluate(compile_game("matching_pennies"), ByLine(lambda one: np.ones((1, 1))))
