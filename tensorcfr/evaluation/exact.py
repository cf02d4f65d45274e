"""Exact equilibria of two-player zero-sum games: strategies and values as fractions, with a proof.

A strategy near an equilibrium shows which sequences are used, and which responses of the opponent
are best.  Own reaches ``x`` of an equilibrium with the same used sequences and best responses
satisfy linear equations with rational coefficients:

* a sequence that is not used has reach 0;
* the reaches of an infoset's actions sum to the reach of the sequence that leads there;
* two actions of the opponent that are both best responses have the same value.

FLINT solves the equations in rational arithmetic.  Reaches that the equations do not determine are
rounded from the strategy.

The solutions are then proved to be an equilibrium, independently of the floats: exact best
responses to them give both players the same value.

Sources of the equations: D. Koller, N. Megiddo, B. von Stengel, "Fast algorithms for finding
randomized strategies in game trees", STOC 1994. Source of the method, which solves a floating-point
basis exactly: D. Applegate, W. Cook, S. Dash, D. Espinoza, "Exact solutions to linear programming
problems", Operations Research Letters 35, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from .._util.extras import needs
from ..kernels.evaluation import realization_plan
from ..model.arrays import SequenceForm
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..payoff import triples
from .linear_program import check_zero_sum, equilibrium
from .metrics import Evaluation, evaluate_probabilities

FLINT = "flint", "exact", "python-flint"
"""Optional package of exact arithmetic, as arguments of :func:`tensorcfr._util.extras.needs`."""
LARGEST_DENOMINATOR = 10**6
"""Largest denominator of the fractions as which payoffs times chance probabilities are read."""
ROUNDINGS = 32.0
"""Largest difference between a float and its fraction, in units in the last place of the float."""
LARGEST_INTEGER = 2**62
"""Bound of the coefficients of equations, which are int64."""
TOLERANCES = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)
"""Thresholds below which a reach counts as 0, and a loss if the largest payoff entry is 1. They are
tried in order until one leads to an equilibrium."""
OPEN_BITS = 40
"""Binary places to which reaches that the equations do not determine are rounded."""
MOST_UNKNOWN = 4_000
"""Largest number of unknown reaches of a player: a dense matrix of 4,000 by 4,000 takes minutes."""


@dataclass(frozen=True, eq=False)
class ExactEquilibrium:
    """Nash equilibrium in fractions.

    Its game pays the fractions next to the compiled game's floats of chance probability times
    payoff.
    """

    game: FlatGame
    """The game."""
    values: tuple[Fraction, Fraction]
    """Value of each player, in the unit of the utilities."""
    strategies: dict[str, dict[str, Fraction]]
    """Probabilities by infoset label and action label.  Infosets that the player's own strategy
    avoids are uniform."""

    @cached_property
    def policy(self) -> Policy:
        """The strategies as floats."""
        return Policy.from_mapping(
            self.game,
            {
                label: {action: float(probability) for action, probability in row.items()}
                for label, row in self.strategies.items()
            },
        )

    @property
    def evaluation(self) -> Evaluation:
        """Values of :attr:`policy` and of best responses to it, as floats."""
        return evaluate_probabilities(self.game, self.policy.probabilities)


def exact_equilibrium(
    game: CompiledGame, near: Policy | None = None, *, memory_limit: int | None = None
) -> ExactEquilibrium:
    """Compute an exact Nash equilibrium of a two-player zero-sum or constant-sum game.

    >>> from tensorcfr import compile_game
    >>> exact_equilibrium(compile_game("kuhn")).values
    (Fraction(-1, 18), Fraction(1, 18))

    Args:
        game: The game, flat.
        near: Strategies near an equilibrium, such as the result of a solve to 1e-9; by default the
            solution of the linear program.
        memory_limit: Bytes that the linear program may take; by default the free memory.

    Raises:
        ValueError: The game does not have two players and a constant sum; its payoffs are not
            fractions with small denominators; it has too many unknown reaches; or ``near`` is not
            near enough to an equilibrium.
        MemoryLimitError: The linear program would not fit.
        MissingExtraError: scipy or python-flint is not installed; names the command that installs
            both.
    """
    flat = require_flat(game, "the exact equilibrium")
    check_zero_sum(flat)
    needs(*FLINT)
    if near is None:
        near, _ = equilibrium(flat, memory_limit=memory_limit)
    form, reach = flat.form, np.empty(flat.n_sequences)
    realization_plan(form, near.probabilities, reach)
    payoff, denominator = integer_payoffs(form)
    sides = _player_form(form, 0), _player_form(form, 1)
    why = ""
    for tolerance in TOLERANCES:
        try:
            plans = [
                _solve_reaches(
                    sides[player],
                    sides[1 - player],
                    matrix,
                    reach[sides[player].sequences],
                    tolerance,
                )
                for player, matrix in enumerate((payoff, -payoff.T))
            ]
        except NotNearError as error:
            why = why or str(error)
            continue
        # Player 0's guaranteed value and player 1's guaranteed limit on it.  If they are equal,
        # each plan is optimal against the other: this is the proof.
        least = -_best_response(sides[1], -payoff.T, plans[0])
        most = _best_response(sides[0], payoff, plans[1])
        if least == most:
            value = most / denominator * Fraction(flat.unit)
            # The sum of the utilities is a float that also needs its fraction.
            total = Fraction(sum(flat.utility_sums) / 2).limit_denominator(LARGEST_DENOMINATOR)
            rows = {
                label: row
                for side, plan in zip(sides, plans, strict=True)
                for label, row in _strategies(flat, side, plan)
            }
            labels = {label: rows[label] for label in flat.infoset_labels}
            return ExactEquilibrium(flat, (value, total - value), labels)
        why = why or f"best responses still gain {float(most - least) / denominator:.3g}"
    raise ValueError(
        f"{flat.name} has no exact equilibrium with the sequences and best answers of these "
        f"strategies: {why}"
    )


class NotNearError(ValueError):
    """The used sequences and best responses at a tolerance are not those of an equilibrium."""


class _PlayerForm(NamedTuple):
    """Sequence form of one player, with the player's sequences and infosets numbered from 0."""

    player: int
    sequences: slice
    """Numbers of the player's sequences in the form."""
    first_infoset: int
    parent: list[int]
    """Sequence that leads to each infoset."""
    actions: list[list[int]]
    """Sequences of each infoset."""


def _player_form(form: SequenceForm, player: int) -> _PlayerForm:
    first, end = form.player_sequences[player : player + 2].tolist()
    infoset, end_infoset = form.player_infosets[player : player + 2].tolist()
    parents = form.infoset_parent[infoset:end_infoset].astype(np.int64) - first
    actions: list[list[int]] = [[] for _ in range(end_infoset - infoset)]
    for sequence, owner in enumerate(form.owners[0][first + 1 : end].tolist(), start=1):
        actions[owner - infoset].append(sequence)
    return _PlayerForm(player, slice(first, end), infoset, parents.tolist(), actions)


def integer_payoffs(form: SequenceForm) -> tuple[Any, int]:
    """Convert player 0's payoffs times chance probabilities to integers over a common denominator.

    Returns:
        A scipy.sparse array, int64 (sequences of player 0, sequences of player 1), and the
        denominator.

    Raises:
        ValueError: An entry is not a fraction with a small denominator, or the integers are too
            large.
    """
    from scipy import sparse

    row, column, value = triples(form, 0)
    shape = np.diff(form.player_sequences)
    matrix = sparse.coo_array((value, (row, column[0] - shape[0])), shape=tuple(shape)).tocsr()
    matrix.sum_duplicates()
    levels, inverse = np.unique(matrix.data, return_inverse=True)
    fractions = [Fraction(v).limit_denominator(LARGEST_DENOMINATOR) for v in levels.tolist()]
    for v, near in zip(levels.tolist(), fractions, strict=True):
        if abs(float(near) - v) > ROUNDINGS * np.spacing(abs(v)):
            raise ValueError(
                f"a payoff times its chance probability is {v!r}, which is not a fraction with a "
                f"denominator up to {LARGEST_DENOMINATOR:,}"
            )
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    integers = [int(fraction * denominator) for fraction in fractions]
    if sum(map(abs, integers)) * max(matrix.nnz, 1) > LARGEST_INTEGER:
        raise ValueError(f"payoffs have the common denominator {denominator:,}, which is too large")
    numerators = np.array(integers, dtype=np.int64)[inverse]
    return sparse.csr_array(
        (numerators, matrix.indices, matrix.indptr), shape=matrix.shape
    ), denominator


def _solve_reaches(
    side: _PlayerForm, opponent: _PlayerForm, payoff: Any, reach: np.ndarray, tolerance: float
) -> list[Fraction]:
    """Solve for own reaches that make the best responses of the other player equally good.

    Args:
        side: The player whose reaches are computed.
        opponent: The other player.
        payoff: Payoffs to ``side``, a sparse int64 (own sequences, other's sequences).
        reach: float64 (own sequences,): reaches near an equilibrium.
        tolerance: Threshold below which reaches and losses count as 0.
    """
    flint = needs(*FLINT)
    reaches, unknown = _reaches_by_unknowns(side, reach, tolerance)
    if len(unknown) > MOST_UNKNOWN:
        raise ValueError(f"{len(unknown):,} reaches are unknown, more than {MOST_UNKNOWN:,}")
    rows = _equations(opponent, payoff, reaches, reach, tolerance)
    # Values of the unknowns that the equations leave free.
    values = [Fraction(round(reach[s] * 2**OPEN_BITS), 2**OPEN_BITS) for s in unknown]
    if rows.shape[0] and unknown:
        # The columns: the unknowns, and with a minus the constant.
        matrix = np.concatenate([rows[:, 1:], -rows[:, :1]], axis=1)
        solved, scale, rank = flint.fmpz_mat(matrix.tolist()).rref()
        values = _solution(solved, Fraction(int(scale)), rank, values)
    elif rows.any():
        raise NotNearError("the best responses are not equally good")
    solution = [
        sum((values[k - 1] * c if k else Fraction(c) for k, c in row.items()), Fraction(0))
        for row in reaches
    ]
    if min(solution) < 0:
        raise NotNearError("a reach would be negative")
    return solution


def _reaches_by_unknowns(
    side: _PlayerForm, reach: np.ndarray, tolerance: float
) -> tuple[list[dict[int, int]], list[int]]:
    """Express own reaches as linear forms of unknowns.

    The unknowns are the reaches of all used actions of an infoset but the likeliest one, whose
    reach is the rest.

    Returns:
        For each sequence its coefficients, by 0 for the constant and ``k + 1`` for unknown ``k``;
        and the sequence of each unknown.
    """
    forms: list[dict[int, int]] = [{} for _ in range(len(reach))]
    unknown: list[int] = []
    forms[0] = {0: 1}
    for parent, actions in zip(side.parent, side.actions, strict=True):
        # Below a sequence with reach 0 all reaches are 0.
        if not forms[parent]:
            continue
        used = [s for s in actions if reach[s] > tolerance]
        first = max(actions, key=lambda s: reach[s])
        rest = dict(forms[parent])
        for s in used:
            if s != first:
                unknown.append(s)
                forms[s] = {len(unknown): 1}
                rest[len(unknown)] = -1
        forms[first] = rest
    return forms, unknown


def _equations(
    opponent: _PlayerForm,
    payoff: Any,
    reaches: list[dict[int, int]],
    reach: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Build the equations that make the best responses equally good.

    Returns:
        int64 (equations, 1 + unknowns): coefficients of the constant and of the unknowns in sums
        that are 0.
    """
    from scipy import sparse

    entries = [(s, k, c) for s, row in enumerate(reaches) for k, c in row.items()]
    s, k, c = np.array(entries, dtype=np.int64).T
    columns = 1 + int(k.max())
    # ``forms`` holds the opponent's counterfactual payoffs as linear forms, ``gain`` as floats near
    # the equilibrium; the payoffs are the other player's, so the best response is the smallest.
    forms = payoff.T @ sparse.csr_array((c, (s, k)), shape=(len(reaches), columns))
    gain = payoff.T @ reach
    # Losses are in units of the payoffs here.
    tolerance *= max(float(abs(payoff).max()), 1.0) if payoff.nnz else 1.0
    # From the last infoset up, each infoset adds the gain of its best action to its parent
    # sequence.  All actions within the tolerance of the best one give an equation.
    leads = {}
    ties: list[tuple[int, int]] = []
    for infoset in range(len(opponent.actions) - 1, -1, -1):
        actions = opponent.actions[infoset]
        best = min(actions, key=lambda a: gain[a])
        ties += [(a, best) for a in actions if a != best and gain[a] - gain[best] <= tolerance]
        leads[best] = opponent.parent[infoset]
        gain[opponent.parent[infoset]] += gain[best]
    total = _sums_along(leads, len(gain))
    responses, best_responses = np.array(ties, dtype=np.int64).reshape(-1, 2).T
    sums = sparse.csr_array(total @ forms)
    rows = np.asarray((sums[responses] - sums[best_responses]).todense(), dtype=np.int64)
    return np.unique(rows[rows.any(axis=1)], axis=0)


def _sums_along(leads: dict[int, int], sequences: int) -> Any:
    """Build a matrix that adds to each sequence the sequences to which best responses lead from it.

    Returns:
        A scipy.sparse array, int64 (sequences, sequences).
    """
    from scipy import sparse

    pairs = []
    for sequence in range(sequences):
        reached = sequence
        pairs.append((reached, sequence))
        while reached in leads:
            reached = leads[reached]
            pairs.append((reached, sequence))
    row, column = np.array(pairs, dtype=np.int64).T
    ones = np.ones(len(pairs), dtype=np.int64)
    return sparse.csr_array((ones, (row, column)), shape=(sequences, sequences))


def _solution(solved: Any, scale: Fraction, rank: int, near: list[Fraction]) -> list[Fraction]:
    """Read the unknowns from the reduced row echelon form of the equations.

    Unknowns that the equations leave free keep their values in ``near``.
    """
    values, unknowns = list(near), len(near)
    for row in solved.table()[:rank]:
        entries = {k: Fraction(int(entry)) for k, entry in enumerate(row) if entry}
        pivot = min(entries)
        if pivot == unknowns:
            raise NotNearError("the best responses cannot be made equally good")
        constant = entries.pop(unknowns, Fraction(0))
        del entries[pivot]
        values[pivot] = (constant - sum(c * near[k] for k, c in entries.items())) / scale
    return values


def _best_response(side: _PlayerForm, payoff: Any, plan: list[Fraction]) -> Fraction:
    """Compute the best-response value of a player, exactly, in units of the payoffs.

    Args:
        side: The player.
        payoff: Payoffs to the player, a sparse int64 (own sequences, other's sequences).
        plan: Reaches of the other player's sequences.
    """
    # Integers over a common denominator: fractions would be reduced after every operation.
    scale = lcm(*(share.denominator for share in plan))
    whole = [int(share * scale) for share in plan]
    entries = payoff.tocoo()
    value = [0] * payoff.shape[0]
    for row, column, entry in zip(
        *(a.tolist() for a in (*entries.coords, entries.data)), strict=True
    ):
        value[row] += entry * whole[column]
    for infoset in range(len(side.actions) - 1, -1, -1):
        value[side.parent[infoset]] += max(value[a] for a in side.actions[infoset])
    return Fraction(value[0], scale)


def _strategies(
    game: FlatGame, side: _PlayerForm, plan: list[Fraction]
) -> list[tuple[str, dict[str, Fraction]]]:
    """Compute behaviour strategies from own reaches: pairs of infoset label and probabilities."""
    strategies = []
    for infoset, (parent, actions) in enumerate(zip(side.parent, side.actions, strict=True)):
        shares = [Fraction(1, len(actions))] * len(actions)
        if plan[parent]:
            shares = [plan[a] / plan[parent] for a in actions]
        number = side.first_infoset + infoset
        named = zip(game.infoset_actions[number], shares, strict=True)
        strategies.append((game.infoset_labels[number], dict(named)))
    return strategies
