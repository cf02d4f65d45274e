"""What it takes to say that a solver equals the slow recursive reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from random_games import keyed
from reference import DealtGame, ReferenceCFR

from tensorcfr import Algorithm, Game, PublicTreeGame, Solver, compile_game
from tensorcfr.games import make_game
from tensorcfr.rules import Terminal

TOLERANCE = 1e-12
MARKS = (1, 2, 3, 10, 50)
EARLY_MARKS = (1, 2, 3, 10)
"""For random games: some of them pass so near to a tie that after 50 iterations the rounding of
two correct programs has grown beyond the tolerance."""

Variant = tuple[Algorithm, dict[str, Any]]
"""A record, and the arguments that make :class:`ReferenceCFR` its twin."""


class Perturbed(Game):
    """A game whose payoffs are moved, each by its own amount.

    Exact ties are decided by the last bit of a sum, so two correct programs part on them
    (``docs/numerics.md``); here there are none left.
    """

    def __init__(self, game: Game, size: float = 0.3) -> None:
        self.game, self.size, self.n_players = game, size, game.n_players

    def root(self) -> Any:
        return self.game.root(), ()

    def node(self, state: Any) -> Any:
        inner, history = state
        node = self.game.node(inner)
        if not isinstance(node, Terminal):
            return node
        shift = keyed(history)
        return Terminal([u + self.size * shift.uniform(-1, 1) for u in node.utilities])

    def next(self, state: Any, action: Any) -> Any:
        inner, history = state
        return self.game.next(inner, action), (*history, action)


def perturbed(spec: str) -> Perturbed:
    """A built-in game with its payoffs moved."""
    return Perturbed(as_game(make_game(spec)))


def as_game(rules: Game | PublicTreeGame) -> Game:
    """The rules history by history."""
    return rules if isinstance(rules, Game) else DealtGame(rules)


GAMES: dict[str, Callable[[], Game | PublicTreeGame]] = {
    "kuhn": lambda: make_game("kuhn"),
    "kuhn, 2 cards": lambda: make_game("kuhn(cards=2)"),
    "kuhn, 4 cards": lambda: make_game("kuhn(cards=4)"),
    "kuhn, 5 cards, perturbed": lambda: perturbed("kuhn(cards=5)"),
    "kuhn, 3 players, perturbed": lambda: perturbed("kuhn(players=3)"),
    "one-card poker, perturbed": lambda: perturbed("one_card_poker"),
    "liar's dice, 3 faces, perturbed": lambda: perturbed("liars_dice(faces=3)"),
    "bluff, 2 dice against 1, 3 faces, perturbed": lambda: perturbed("bluff(dice=(2, 1), faces=3)"),
    "goofspiel, 3 cards": lambda: make_game("goofspiel(cards=3)"),
    "goofspiel, 4 cards, perturbed": lambda: perturbed("goofspiel(cards=4)"),
    "rock paper scissors, perturbed": lambda: perturbed("rock_paper_scissors"),
    "leduc, 1 suit": lambda: make_game("leduc(ranks=4, suits=1)"),
}
"""Small games on which the trajectories of two correct programs stay together."""


def difference(
    policy: Mapping[str, Mapping[str, float]], expected: Mapping[str, Sequence[float]]
) -> tuple[float, str]:
    """The largest difference, and the infoset where it is."""
    assert set(policy) == set(expected)
    return max(
        (float(np.abs(np.array(list(policy[label].values())) - expected[label]).max()), label)
        for label in expected
    )


def assert_equal(
    solver: Solver,
    reference: ReferenceCFR,
    marks: Sequence[int],
    tolerance: float = TOLERANCE,
) -> None:
    """Average strategies agree at every mark."""
    for mark in marks:
        solver.step(mark - solver.iteration)
        while reference.t < mark:
            reference.step()
        worst, where = difference(solver.average_policy(), reference.average_policy())
        assert worst <= tolerance, f"iteration {mark}, infoset {where!r}: off by {worst}"


def check_built_in(name: str, variant: Variant) -> None:
    """Equal to 1e-12 over 50 iterations of one of :data:`GAMES`."""
    rules = GAMES[name]()
    algorithm, options = variant
    reference = ReferenceCFR(as_game(rules), **options)
    assert_equal(Solver(compile_game(rules), algorithm), reference, MARKS)


def check_random(game: Game | PublicTreeGame, variant: Variant) -> None:
    """Equal to 1e-12 early, and to 1e-9 after 50 iterations."""
    algorithm, options = variant
    solver = Solver(compile_game(game), algorithm)
    reference = ReferenceCFR(as_game(game), **options)
    assert_equal(solver, reference, EARLY_MARKS)
    assert_equal(solver, reference, (50,), tolerance=1e-9)


def check_last_iterate(variant: Variant) -> None:
    """The strategies that the next iteration plays are equal too."""
    algorithm, options = variant
    rules = make_game("kuhn(cards=4)")
    solver = Solver(compile_game(rules), algorithm)
    reference = ReferenceCFR(as_game(rules), **options)
    for _ in range(20):
        solver.step()
        reference.step()
        worst, where = difference(solver.current_policy(), reference.current_policy())
        assert worst <= TOLERANCE, f"iteration {solver.iteration}, infoset {where!r}: {worst}"
