"""Why a tutorial's program prints +1.58 for the value of no-limit Leduc, which is -0.069.

python -m scripts.tutorial_leduc            some minutes; writes the table of results/tutorials.md
python -m scripts.tutorial_leduc --quick    the same with few iterations, into build/quick

The program is that of the chapter "CFR" of M. Chiswick's AI Poker Tutorial (https://aipokertutorial.com),
external sampling of no-limit Leduc with 3 ranks and 20 chips.  It is written here anew, with its
peculiarities as switches.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks._common import table
from tensorcfr import compile_game, solve
from tensorcfr._util.hardware import machine, versions

from ._pages import folder_of, publish, scaled_arguments

Bets = tuple[tuple[int, ...], tuple[int, ...]]
BEHIND = 19
"""Chips of each player after the ante."""


@dataclass(frozen=True)
class Rules:
    """Departures of the program from its text."""

    pot_adds_up: bool = True
    """At the nodes of the traversing player the pot keeps the chips of the actions tried before."""
    opener_by_parity: bool = True
    """After a first round of three actions player 1 opens the second one, and acts again."""
    fold_pays_round: bool = True
    """A fold loses the ante and the chips of this round only."""


class Trainer:
    """External sampling with an average over the opponent's nodes.

    Args:
        rules: The peculiarities.
        seed: Of the deals and the opponent's actions.
    """

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules, self.random = rules, random.Random(seed)
        self.regret: dict[tuple[object, ...], dict[int, float]] = {}

    def train(self, iterations: int) -> tuple[float, float]:
        """Return the numbers that the program would print for each player: the mean utility of the
        traversals."""
        deck, earned = [0, 0, 1, 1, 2, 2], [0.0, 0.0]
        for _ in range(iterations):
            for player in range(2):
                self.random.shuffle(deck)
                earned[player] += self.visit(deck[:3], ((), ()), 0, 2, player)
        return earned[0] / iterations, earned[1] / iterations

    def visit(self, cards: list[int], bets: Bets, street: int, pot: int, traverser: int) -> float:
        """Return the utility of a history to the traversing player.

        Args:
            cards: Of player 0, of player 1, of the board.
            bets: Chips put in by each action, street by street; player 0's at even places.
            street: 0 or 1.
            pot: Chips in the pot, as the program counts them.
            traverser: Who tries all actions.
        """
        own = bets[street]
        acting = len(own) % 2
        if len(own) >= 2:
            paid = sum(own[0::2]), sum(own[1::2])
            if paid[0] == paid[1]:
                if street == 1 or paid[0] == BEHIND:
                    return self.showdown(cards, pot, traverser)
                street = 1
                if not self.rules.opener_by_parity:
                    acting = 0
            elif own[-1] == 0:
                won = 1 + paid[1 - acting]
                if not self.rules.fold_pays_round:
                    won += sum(bets[0][1 - acting :: 2]) * street
                return float(won if traverser == acting else -won)
        key = (cards[acting], cards[2] if street else None, bets)
        options = _options(bets, street, acting)
        regret = self.regret.setdefault(key, dict.fromkeys(options, 0.0))
        strategy = _matching(regret)
        if acting == traverser:
            found, mean = {}, 0.0
            for action in options:
                paid_in = pot + action
                if self.rules.pot_adds_up:
                    pot = paid_in
                after = _after(bets, street, action)
                found[action] = self.visit(cards, after, street, paid_in, traverser)
                mean += strategy[action] * found[action]
            for action in options:
                regret[action] += found[action] - mean
            return mean
        (action,) = self.random.choices(options, [strategy[a] for a in options])
        after = _after(bets, street, action)
        return self.visit(cards, after, street, pot + action, traverser)

    @staticmethod
    def showdown(cards: list[int], pot: int, traverser: int) -> float:
        """Return half of the pot for the better hand."""
        first, second, board = cards
        if first == second:
            return 0.0
        winner = 0 if first == board or (second != board and first > second) else 1
        return pot / 2 if winner == traverser else -pot / 2


def _after(bets: Bets, street: int, action: int) -> Bets:
    if street == 0:
        return (*bets[0], action), bets[1]
    return bets[0], (*bets[1], action)


def _options(bets: Bets, street: int, acting: int) -> list[int]:
    """Return the actions at a decision, as chips that are put in."""
    own = bets[street]
    stack = BEHIND - sum(bets[0][acting::2]) - sum(bets[1][acting::2])
    if not own:
        return list(range(stack + 1))
    if len(own) == 3:
        return [0, abs(own[1] - own[2] - own[0])]
    call = own[0] if len(own) == 1 else own[1] - own[0]
    if 2 * call > stack:
        return [0, stack] if call == stack else [0, call, stack]
    if len(own) == 1 and call == 0:
        return list(range(stack + 1))
    return [0, call, *range(2 * call, stack + 1)]


def _matching(regret: dict[int, float]) -> dict[int, float]:
    total = sum(value for value in regret.values() if value > 0)
    if total <= 0:
        return dict.fromkeys(regret, 1 / len(regret))
    return {action: max(value, 0.0) / total for action, value in regret.items()}


def listing(iterations: int, seeds: int) -> str:
    """Print the program's output, with one peculiarity after the other removed."""
    steps = [
        ("as printed", Rules()),
        ("the pot handed down", Rules(pot_adds_up=False)),
        ("and a fold pays both rounds", Rules(pot_adds_up=False, fold_pays_round=False)),
        (
            "and player 0 opens round two",
            Rules(pot_adds_up=False, fold_pays_round=False, opener_by_parity=False),
        ),
    ]
    rows = []
    for name, rules in steps:
        found = np.array([Trainer(rules, seed).train(iterations) for seed in range(seeds)])
        both = found.sum(axis=1)
        extremes = f"{found[:, 0].min():+.2f} to {found[:, 0].max():+.2f}"
        means = [_mean(values) for values in (found[:, 0], found[:, 1], both)]
        rows.append([name, means[0], extremes, *means[1:]])
    return (
        table(
            ["program", "player 0", "of all seeds", "player 1", "sum, 0 in a zero-sum game"], rows
        )
        + f"\n\nMean ± standard error over {seeds} seeds, {iterations:,} iterations."
    )


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def ours(iterations: Sequence[int], seeds: int) -> str:
    """Measure external sampling of this library, after more iterations."""
    game = compile_game("nl_leduc", cut=False)
    rows = []
    for count in iterations:
        solutions = [
            solve(game, "external_sampling", iters=count, seed=seed) for seed in range(seeds)
        ]
        values = np.array([solution.value[0] for solution in solutions])
        rows.append(
            [
                f"{count:,}",
                _mean(values),
                f"{np.median([solution.exploitability for solution in solutions]):.2f}",
            ]
        )
    return table(["iterations", "value of the average strategies", "exploitability"], rows)


def main() -> None:
    """Run the command line."""
    options = scaled_arguments(__doc__).parse_args()
    if options.quick:
        parts = {"leduc": listing(20, 2), "leduc_ours": ours((100,), 2)}
    else:
        parts = {
            "leduc": listing(1_000, 10),
            "leduc_ours": ours((1_000, 10_000, 100_000, 1_000_000), 3),
        }
    parts["leduc_said"] = f"{machine()}; {versions()}."
    publish("tutorial_leduc", parts, folder_of(options))


if __name__ == "__main__":
    main()
