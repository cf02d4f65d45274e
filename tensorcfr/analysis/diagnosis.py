"""Diagnosis of other CFR programs by their numbers: the first difference from CFR, the mistake."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from .._util.argument_checks import OneOf, Whole, checked
from ..evaluation import evaluate
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.policy import Policy
from ..solvers.driver import solve
from .plain_loops import (
    AVERAGES_SHAPE,
    CORRECT,
    WEIGHTS,
    Averages,
    LoopSettings,
    LoopTree,
    PlainLoop,
    match_regrets,
    mistaken_loops,
)
from .printed_numbers import PrintedNumbers, read_numbers

MAX_VISITS = 300_000
"""Largest number of histories that a loop without a mistake visits, over all iterations."""
MISTAKEN_VISITS = 60_000
"""Largest number of histories that a loop with a mistake visits; these loops are many."""
FLOAT_ERROR = 1e-7
"""Difference between the numbers of two programs that is rounding, even if all digits are known."""
SAMPLED_ITERATIONS = 100_000
"""Largest number of iterations for the comparison with sampling."""
Numbers = Literal["auto", "strategies", "last", "regrets"]


class Mistake(NamedTuple):
    """A usual mistake in programs of CFR."""

    name: str
    """Short name, such as ``"used at once"``."""
    problem: str
    """The difference from CFR."""
    remedy: str
    """The reason why CFR does it otherwise, and the change that mends the program."""


_SUM_FIRST = (
    "The regret of an infoset is a sum over its histories; only the sum may be used. Collect the "
    "regrets of the pass in an array of their own, and update regrets and strategy after it."
)
_COUNTERFACTUAL = (
    "A regret asks how much the player loses if they try to reach the infoset, so it is weighted "
    "by the reach of chance and the others: regret_sum[a] += others_reach * (util[a] - node_util)."
)
_AVERAGE = (
    "The average is over the player's plans, so a strategy counts as often as the player's own "
    "actions lead there: strategy_sum[a] += own_reach * strategy[a]."
)
_EVERY_VISIT = "Add own_reach * strategy to strategy_sum at every history of every pass."
_CHANCE = (
    "The value of a chance node is the sum of probability * value of its children, and the reach "
    "that weights a regret has each probability on the way once. Nothing else has it."
)
MISTAKES = {
    mistake.name: mistake
    for mistake in (
        Mistake(
            "used at once",
            "Regrets are used in the pass in which they are added: later histories of an infoset "
            "are played with another strategy than earlier ones.",
            _SUM_FIRST,
        ),
        Mistake(
            "floor at each history",
            "The floor of CFR+ is applied at each history, so a negative regret of one history "
            "cannot balance a positive one of the next.",
            _SUM_FIRST,
        ),
        Mistake(
            "floor at each history, used at once",
            "The floor of CFR+ is applied at each history, and later histories of the pass use "
            "the result.",
            _SUM_FIRST,
        ),
        Mistake(
            "discount at each history",
            "Regrets are discounted at each history, so an infoset of many histories forgets "
            "faster than one of few, and within a pass.",
            f"The discount is for one iteration. {_SUM_FIRST}",
        ),
        Mistake(
            "discount at each history, used at once",
            "Regrets are discounted at each history, and later histories of the pass use the "
            "result.",
            f"The discount is for one iteration. {_SUM_FIRST}",
        ),
        Mistake(
            "strategy read too early",
            "The next strategy is read before the regrets of the iteration are added, so it is "
            "one iteration behind.",
            "Add the regrets first; then compute the strategy of the next iteration from them.",
        ),
        Mistake(
            "regrets by own reach",
            "Regrets are weighted by the player's own reach.",
            _COUNTERFACTUAL,
        ),
        Mistake("regrets by no reach", "Regrets are not weighted by a reach.", _COUNTERFACTUAL),
        Mistake(
            "regrets by all reaches",
            "Regrets are weighted by the reach of all players, the player's own included.",
            f"{_COUNTERFACTUAL} With the own reach, an infoset that is not played never learns.",
        ),
        Mistake("chance missing", "Chance probabilities are missing in a reach or value.", _CHANCE),
        Mistake("chance twice", "Chance probabilities are counted twice.", _CHANCE),
        Mistake(
            "growing pot",
            "The pot grows across siblings: each action's pot contains the chips of the actions "
            "before it.",
            "A loop such as 'for a in actions: pot += a' changes the pot of the next action. Pass "
            "pot + a to the recursion, and leave pot as it is.",
        ),
        Mistake(
            "wrong winner",
            "Showdowns after some lines are paid to the wrong player.",
            "The value of a terminal is for one player. Write down whose it is, and check the sign "
            "for lines of an even and of an odd number of actions.",
        ),
        Mistake(
            "regrets overwritten",
            "Only the regrets of the last iteration are kept.",
            "Regrets are sums over all iterations: regret_sum[a] += regret, not =.",
        ),
        Mistake(
            "negative regrets dropped",
            "Negative regrets of an iteration are not added.",
            "A regret sum may fall. Take the positive part of the sum when the strategy is "
            "computed, not of the regret before it is added.",
        ),
        Mistake("average by others", "The average is weighted by the others' reach.", _AVERAGE),
        Mistake("average by no reach", "The average is not weighted by a reach.", _AVERAGE),
        Mistake(
            "average by all reaches",
            "The average is weighted by the reach of all players.",
            _AVERAGE,
        ),
        Mistake(
            "average over unreached histories",
            "The average is summed only where the others' reach is 0: in the second phase of a "
            "pass.",
            _EVERY_VISIT,
        ),
        Mistake(
            "average over reached histories",
            "The average is summed only where the others' reach is positive: a return for pruning "
            "comes before it.",
            f"Such a history has no regret, but its strategy counts. {_EVERY_VISIT}",
        ),
        Mistake(
            "average of the first player only",
            "Only the strategies of player 0 are summed; those of the others stay uniform.",
            _EVERY_VISIT,
        ),
        Mistake(
            "average never summed",
            "No strategies are summed, so the average is uniform.",
            _EVERY_VISIT,
        ),
        Mistake(
            "last strategy",
            "The numbers are the strategies of the last iteration, not the average.",
            "The theorem is about the average: print strategy_sum, normalised at each infoset. "
            "The last strategies of CFR may go round an equilibrium.",
        ),
    )
}
"""The mistakes, by name."""


AVERAGE_MISTAKES = (
    "average by others",
    "average by no reach",
    "average by all reaches",
    "average over unreached histories",
    "average over reached histories",
    "average of the first player only",
    "average never summed",
)
"""Names of the mistakes of averages, in the order of :data:`REACHES` after ``"own"``."""


@dataclass(frozen=True)
class Departure:
    """First difference from CFR."""

    iteration: int
    """Iteration."""
    infoset: str
    """Label of the infoset, the first in the order of play that differs in this iteration."""
    actions: tuple[str, ...]
    """Actions of the infoset."""
    theirs: tuple[float, ...]
    """Numbers of the program, by action."""
    ours: tuple[float, ...]
    """Numbers of CFR, by action; regrets in the scale of the program."""


@dataclass(frozen=True)
class Diagnosis:
    """Result of :func:`diagnose`; ``print`` shows it as a report."""

    game: FlatGame
    """The game."""
    kind: str
    """``"strategies"`` or ``"regrets"``."""
    iterations: tuple[int, ...]
    """Iterations that have numbers."""
    value: tuple[float, ...]
    """Values of the last strategies to the players; of regrets, the strategies that match them."""
    exploitability: float
    """Exploitability of the last strategies, or of the strategies that match the last regrets."""
    missing: tuple[str, ...]
    """Labels of the infosets without numbers, which are evaluated as uniform."""
    algorithm: str | None
    """Variant of CFR that prints these numbers, with its mistakes left out; None if no loop prints
    them."""
    mistakes: tuple[Mistake, ...]
    """Mistakes with which the variant prints these numbers; empty if it is correct."""
    alternatives: tuple[str, ...]
    """Names of other mistakes that print the same numbers."""
    departure: Departure | None
    """First difference from CFR."""
    note: str
    """Remark on numbers that no loop prints, or on a comparison that is not possible."""

    @property
    def is_cfr(self) -> bool:
        """True if a variant of CFR without a mistake prints the numbers."""
        return self.algorithm is not None and not self.mistakes

    def __str__(self) -> str:
        value = ", ".join(f"{number:+.6f}" for number in self.value)
        lines = [f"{self.game.name}: value {value}, exploitability {self.exploitability:.6g}"]
        if self.missing:
            lines.append(f"no numbers, so uniform: {', '.join(self.missing[:12])}")
        if self.is_cfr:
            lines.append(f"These are the {self.kind} of {self.algorithm}.")
        for mistake in self.mistakes:
            lines += [f"mistake: {mistake.problem}", f"  {mistake.remedy}"]
        if self.alternatives:
            lines.append(
                f"the same numbers: {'; '.join(self.alternatives)}. Numbers of more iterations, or "
                "with more digits, tell them apart."
            )
        if self.mistakes:
            lines.append(f"Without it, the program is {self.algorithm}.")
        if self.departure is not None:
            first = self.departure
            pairs = zip(first.actions, first.theirs, first.ours, strict=True)
            numbers = ", ".join(f"{action} {u:.6g} (CFR: {c:.6g})" for action, u, c in pairs)
            lines.append(
                f"first difference: iteration {first.iteration}, infoset {first.infoset}: {numbers}"
            )
        return "\n".join([*lines, self.note] if self.note else lines)


class _Match(NamedTuple):
    """A loop whose output equals the printed numbers."""

    cost: float
    mistakes: tuple[str, ...]
    settings: LoopSettings
    average: Averages | None
    """None if the numbers are those of the last strategies, or regrets."""
    offset: int
    """Iterations of the loop minus printed iterations."""


@checked()
def diagnose(
    game: Flat,
    numbers: Any,
    *,
    iteration: Annotated[int | None, Whole(1)] = None,
    numbers_are: Annotated[Numbers, OneOf(get_args(Numbers))] = "auto",
    actions: Sequence[str] | None = None,
) -> Diagnosis:
    """Compare the numbers that another program prints with CFR, and name the mistake, if any.

    Plain recursions over histories are run next to the numbers: variants of CFR, and the same with
    one usual mistake each (:data:`MISTAKES`).  The loop that prints the same numbers tells the
    mistake.

    >>> from tensorcfr import compile_game, solve
    >>> game = compile_game("kuhn")
    >>> strategies = solve(game, "cfr", iters=10).policy
    >>> diagnose(game, strategies, iteration=10).algorithm
    'cfr, players in turn, averaging weight 1'

    Args:
        game: The game, with at most some thousand histories.
        numbers: A mapping of infoset labels to numbers, a list or a mapping of actions.  Or a
            mapping of iterations to such mappings, or their sequence for the iterations 1, 2, ...
            Or a text as programs print it, or its path.  Labels are those of the game or of
            OpenSpiel, or a card and the actions, such as ``"0[0, 1]"`` and ``"KCB"``.
        iteration: Iteration of numbers that come without one.
        numbers_are: ``"strategies"`` are averages, ``"last"`` strategies of the last iteration,
            ``"regrets"`` cumulative regrets in any scale.  ``"auto"`` decides by the numbers.
        actions: Actions in the order of the program's numbers; by default the order of the game,
            or of a heading in the text.

    Returns:
        Value and exploitability, the variant and its mistakes, and the first difference.

    Raises:
        ValueError: The numbers cannot be read, or do not fit the game; names the line, the infoset
            or the action.
        TypeError: ``numbers`` has a wrong type.

    The algorithms: M. Zinkevich et al., "Regret minimization in games with incomplete information",
    NIPS 2007; O. Tammelin, "Solving large imperfect information games using CFR+", 2014; N. Brown
    and T. Sandholm, "Solving imperfect-information games via discounted regret minimization", 2019.
    """
    tree = LoopTree(game)
    if isinstance(numbers, str) and "\n" not in numbers and os.path.isfile(numbers):
        numbers = Path(numbers)
    printed = read_numbers(tree, numbers, iteration, actions)
    kind = numbers_are
    if kind == "auto":
        kind = "strategies" if printed.are_strategies else "regrets"
    if kind != "regrets" and not printed.are_strategies:
        raise ValueError("numbers are not strategies: at some infoset they do not sum to 1")
    evaluation = evaluate(game, _last_policy(tree, printed, kind))
    search = _Search(tree, printed.checkpoints, printed.tolerance, kind)
    within = search.within(MAX_VISITS)
    matches: list[_Match] = []
    departure, note = None, ""
    if within:
        matches = search.run()
        if not matches or matches[0].mistakes:
            twin = matches[0] if matches else None
            departure = search.departure(twin)
        if not matches:
            note = search.remark_on_columns() or _compare_with_sampling(
                game, printed, kind, evaluation.exploitability
            )
    else:
        first = max(MAX_VISITS // game.n_histories - 1, 0)
        note = (
            f"Nothing is compared: the loops are slow, and the first numbers are of iteration "
            f"{min(printed.checkpoints):,}. "
            + (f"Print those of an iteration up to {first:,}." if first else "Take a smaller game.")
        )
    best = matches[0] if matches else None
    names = () if best is None else best.mistakes
    alternatives = {
        ", ".join(match.mistakes) for match in matches if best and match.cost <= best.cost + 0.9
    }
    return Diagnosis(
        game,
        "regrets" if kind == "regrets" else "strategies",
        tuple(printed.checkpoints),
        tuple(float(v) for v in evaluation.values),
        float(evaluation.exploitability),
        printed.missing,
        None if best is None else _describe(best, kind),
        tuple(MISTAKES[name] for name in names),
        tuple(sorted(alternatives - {", ".join(names)})) if names else (),
        departure,
        note,
    )


class _Search:
    """Search for a loop that prints the same numbers.

    Args:
        tree: The tree.
        checkpoints: As in :class:`PrintedNumbers`.
        tolerance: As there.
        kind: ``"strategies"``, ``"last"`` or ``"regrets"``, or ``"auto"``.
    """

    def __init__(
        self, tree: LoopTree, checkpoints: dict[int, np.ndarray], tolerance: float, kind: str
    ) -> None:
        self.tree, self.checkpoints, self.tolerance, self.kind = tree, checkpoints, tolerance, kind

    def within(self, visits: int) -> dict[int, np.ndarray]:
        """Return the checkpoints that a loop reaches with a number of visits."""
        last = visits // self.tree.game.n_histories - 1
        return {t: row for t, row in self.checkpoints.items() if t <= last}

    def run(self) -> list[_Match]:
        """Return the loops that print the numbers, the likeliest first."""
        mistaken = [((name,), settings) for name, settings in mistaken_loops()]
        return self._run_correct() or self._run_all(mistaken, self.within(MISTAKEN_VISITS))

    def _run_correct(self) -> list[_Match]:
        return self._run_all([((), settings) for settings in CORRECT], self.within(MAX_VISITS))

    def _run_all(
        self,
        loops: Sequence[tuple[tuple[str, ...], LoopSettings]],
        checkpoints: dict[int, np.ndarray],
    ) -> list[_Match]:
        if not checkpoints:
            return []
        matches = (self._matches(*loop, checkpoints) for loop in loops)
        return sorted(chain.from_iterable(matches), key=lambda match: match.cost)

    def remark_on_columns(self) -> str:
        """Return a remark if the numbers are those of CFR with the actions in reverse order."""
        order = np.concatenate(
            [np.arange(numbers.stop - 1, numbers.start - 1, -1) for numbers in self.tree.slices]
        )
        reverse = {t: row[order] for t, row in self.checkpoints.items()}
        search = _Search(self.tree, reverse, self.tolerance, self.kind)
        matches = search._run_correct()
        if not matches or matches[0].mistakes:
            return ""
        return (
            f"With the numbers of each infoset in reverse order, they are those of "
            f"{_describe(matches[0], self.kind)}. Pass actions= in the order of the program."
        )

    def _outputs(self, loop: PlainLoop) -> np.ndarray:
        """Return all numbers that a loop may print, float64 (outputs, numbers)."""
        if self.kind == "regrets":
            return loop.numbers(loop.regret)[None]
        last = loop.numbers([match_regrets(row) for row in loop.regret])[None]
        if self.kind == "last":
            return last
        averages = loop.averages()
        if not loop.settings.alternating:
            averages[1:] = np.inf  # All players are updated in each pass.
        return np.concatenate([averages.reshape(-1, last.shape[1]), last])

    def _differs(self, outputs: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return which numbers of outputs differ from a printed row, bool (outputs, numbers)."""
        known = ~np.isnan(row)
        theirs = np.where(known, row, 0.0)
        bound = 1.01 * self.tolerance + FLOAT_ERROR
        if self.kind == "regrets":
            outputs = self._scaled(outputs, theirs, known)
            bound += FLOAT_ERROR * float(np.abs(theirs).max())
        return known & (np.abs(outputs - theirs) > bound)

    def _scaled(self, outputs: np.ndarray, theirs: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return regrets in the scale of the program."""
        products, squares = outputs @ theirs, (outputs**2) @ known
        scale = np.where(squares > 0, products / np.where(squares > 0, squares, 1.0), 1.0)
        return outputs * np.maximum(scale, 0.0)[:, None]

    def _matches(
        self,
        names: tuple[str, ...],
        settings: LoopSettings,
        checkpoints: dict[int, np.ndarray],
    ) -> Iterator[_Match]:
        loop = PlainLoop(self.tree, settings)
        masks: dict[int, Any] = {0: None, 1: None, -1: None}
        for t in range(1, max(checkpoints) + 2):
            loop.iterate()
            due = [offset for offset in masks if t - offset in checkpoints]
            if due:
                outputs = self._outputs(loop)
                for offset in due:
                    fits = ~self._differs(outputs, checkpoints[t - offset]).any(axis=1)
                    masks[offset] = fits if masks[offset] is None else masks[offset] & fits
                masks = {o: mask for o, mask in masks.items() if mask is None or mask.any()}
            if not masks:
                return
        for offset, mask in masks.items():
            if mask is None:
                continue  # No iteration of the loop was due at this offset.
            for index in np.flatnonzero(mask).tolist():
                yield self._match(names, settings, index, offset)

    def _match(
        self, names: tuple[str, ...], settings: LoopSettings, index: int, offset: int
    ) -> _Match:
        cost = len(names) + 0.3 * (offset != 0) + 0.01 * RULES.index(settings.rule)
        average = None
        if self.kind == "strategies":
            if index == int(np.prod(AVERAGES_SHAPE)):
                names = (*names, "last strategy")
                cost += 1.0
            else:
                average = Averages(*(int(i) for i in np.unravel_index(index, AVERAGES_SHAPE)))
                usual = USUAL_WEIGHT[_correct_rule(settings.rule)]
                cost += 0.1 * (average.weight != usual) + 0.1 * average.passes
                if average.reach:
                    names = (*names, AVERAGE_MISTAKES[average.reach - 1])
                    cost += 1.0 + 0.01 * average.reach
        return _Match(cost, names, settings, average, offset)

    def departure(self, match: _Match | None) -> Departure | None:
        """Return the first difference from CFR, with the settings of a match but without its
        mistakes; without a match, from the variant that agrees longest."""
        if match is None:
            candidates: list[tuple[LoopSettings, Averages | None, int]]
            candidates = [(settings, None, 0) for settings in CORRECT]
        else:
            settings = LoopSettings(_correct_rule(match.settings.rule), match.settings.alternating)
            average = match.average and match.average._replace(reach=0)
            candidates = [(settings, average, match.offset)]
        departures = [self._first_difference(*candidate) for candidate in candidates]
        known = [departure for departure in departures if departure is not None]
        return max(known, key=lambda departure: departure.iteration, default=None)

    def _first_difference(
        self, settings: LoopSettings, average: Averages | None, offset: int
    ) -> Departure | None:
        average = average or Averages(0, USUAL_WEIGHT[_correct_rule(settings.rule)], 0)
        loop, checkpoints = PlainLoop(self.tree, settings), self.within(MAX_VISITS)
        for t in range(1, max(checkpoints) + 2):
            loop.iterate()
            if (row := checkpoints.get(t - offset)) is None:
                continue
            outputs = self._outputs(loop)
            index = 0
            if self.kind == "strategies":
                index = int(np.ravel_multi_index(average, AVERAGES_SHAPE))
            differs = self._differs(outputs, row)[index]
            known = ~np.isnan(row)
            ours = outputs
            if self.kind == "regrets":
                ours = self._scaled(outputs, np.where(known, row, 0.0), known)
            for infoset in self.tree.order:
                numbers = self.tree.slices[infoset]
                if differs[numbers].any():
                    return Departure(
                        t - offset,
                        self.tree.game.infoset_labels[infoset],
                        self.tree.game.infoset_actions[infoset],
                        tuple(row[numbers].tolist()),
                        tuple(ours[index, numbers].tolist()),
                    )
        return None


USUAL_WEIGHT = {"cfr": 0, "cfr+": 1, "lcfr": 1, "dcfr": 2}
"""Index in :data:`WEIGHTS` of the usual averaging weight, by rule without a mistake."""
RULES = (*USUAL_WEIGHT, "overwritten", "positive")
"""Rules, the likeliest first."""


def _correct_rule(rule: str) -> str:
    """Return a rule with its mistake left out."""
    return rule if rule in USUAL_WEIGHT else "cfr"


def _describe(match: _Match, kind: str) -> str:
    """Describe the variant of a match, with its mistakes left out."""
    parts = [
        _correct_rule(match.settings.rule),
        "players in turn" if match.settings.alternating else "all players in one pass",
    ]
    if match.average is not None:
        parts.append(f"averaging weight {WEIGHTS[match.average.weight]}")
        if match.average.passes:
            parts.append(
                ("", "summed in the others' pass", "summed in all passes")[match.average.passes]
            )
    if match.offset:
        parts.append(f"printed iteration t is iteration t {'+' if match.offset > 0 else '-'} 1")
    return ", ".join(parts)


def _last_policy(tree: LoopTree, printed: PrintedNumbers, kind: str) -> Policy:
    """Return the policy of the last numbers; infosets without numbers are uniform."""
    row = printed.checkpoints[max(printed.checkpoints)]
    probabilities = Policy.uniform(tree.game).probabilities.copy()
    strategies = tree.normalise(np.maximum(np.nan_to_num(row), 0.0))
    for infoset, numbers in enumerate(tree.slices):
        if not np.isnan(row[numbers]).any():
            probabilities[tree.game.sequences(infoset)] = strategies[numbers]
    return Policy(tree.game, probabilities)


def _compare_with_sampling(
    game: FlatGame, printed: PrintedNumbers, kind: str, exploitability: float
) -> str:
    """Return a remark on numbers that no loop prints."""
    first = "No loop prints these numbers."
    t = max(printed.checkpoints)
    if min(printed.checkpoints) * game.n_histories > MISTAKEN_VISITS:
        first += (
            f" Loops with a mistake are compared up to iteration "
            f"{MISTAKEN_VISITS // game.n_histories - 1:,}: print an earlier one."
        )
    if kind != "strategies" or t > SAMPLED_ITERATIONS:
        return first
    worst = max(
        solve(game, name, iters=t, seed=seed).exploitability
        for name in ("chance_sampling", "external_sampling")
        for seed in range(3)
    )
    if exploitability <= 2 * worst:
        return (
            f"{first} A program that samples would print others at each run: after {t:,} "
            f"iterations sampling reaches {worst:.3g} here, so these may be right."
        )
    return (
        f"{first} Sampling does not explain them: after {t:,} iterations it reaches {worst:.3g} "
        "here. Print the numbers of iterations 1, 2 and 3; there a mistake is easiest to see."
    )
