"""Quasi-perfect equilibria of two-player zero-sum games, as fractions.

Every sequence ``s`` of a player is played with an own reach of at least ``e ** |s|``, where ``|s|``
is the number of its actions.  Several trembles in one play are therefore much less likely than one.
The equilibria of these perturbed games solve linear programs whose right-hand sides and objectives
are polynomials in ``e``.  A limit for ``e -> 0`` is a quasi-perfect equilibrium of the game.  It is
therefore sequential, and perfect in the normal form (Miltersen and Sørensen).

A basis of the program is *stable* if it is optimal for all small ``e``.  HiGHS finds an optimal
basis for a number ``e``.  The basis is then solved in fractions, with a column for every power of
``e``.  It is stable if the first nonzero coefficient of every variable and every reduced cost is
positive.  Otherwise a smaller ``e`` is tried (Farina, Gatti and Sandholm).

Sources:

* P. B. Miltersen, T. B. Sørensen, "Computing a quasi-perfect equilibrium of a two-player game",
  Economic Theory 42, 2010.
* G. Farina, N. Gatti, T. Sandholm, "Practical exact algorithm for trembling-hand equilibrium
  refinements in games", NeurIPS 2018.
* E. van Damme, "A relation between perfect equilibria in extensive form games and proper equilibria
  in normal form games", International Journal of Game Theory 13, 1984.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import checked
from .._util.extras import needs
from ..evaluation.exact import FLINT
from ..evaluation.linear_program import check_zero_sum, optimum, payoff_matrix
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.policy import Policy

FIRST, LAST, FALL = Fraction(1, 20), Fraction(1, 10**4), 2
"""First and last ``e`` to try, and the divisor between consecutive ones."""
LARGEST = 1_000
"""Maximum number of sequences of a game.  In longer plays, such as Leduc's, the minimum own reaches
are near the tolerance of HiGHS, whose bases are then no longer optimal."""
POSITIVE = 1e-7
"""Threshold for positive numbers in the solution of HiGHS, relative to the minimum own reach."""
DENOMINATOR = 10**6
"""Largest denominator of a payoff entry that is converted to a simple fraction."""


@dataclass(frozen=True)
class QuasiPerfect:
    """Exact quasi-perfect equilibrium."""

    policy: Policy
    """Strategies, rounded to floats."""
    probabilities: dict[str, dict[str, Fraction]]
    """Strategies: infoset label to action to probability."""
    value: Fraction
    """Expected utility of player 0."""
    trembles: Fraction
    """Number ``e`` at which HiGHS found the basis, which is optimal for all small ``e``."""
    reaches: tuple[tuple[Fraction, ...], ...]
    """Own reaches in the perturbed equilibria, by sequence: coefficients of the powers of ``e``,
    from 0.  They prove that the strategies are a limit of perturbed equilibria."""


@checked()
def quasi_perfect(game: Flat) -> QuasiPerfect:
    """Compute a quasi-perfect equilibrium of a small two-player zero-sum game, as fractions.

    After a mistake of the opponent, each player continues with a best response, and no strategy is
    dominated.  Payoffs times chance probabilities are converted to fractions with denominators of
    at most a million if the fraction equals the float to rounding.  Other floats are converted
    exactly.  Time grows with the third power of the number of sequences: about 10 seconds for 900.

    >>> from tensorcfr import compile_game
    >>> equilibrium = quasi_perfect(compile_game("kuhn"))
    >>> equilibrium.value, equilibrium.probabilities["Jb"]  # A jack folds to a bet.
    (Fraction(-1, 18), {'pass': Fraction(1, 1), 'bet': Fraction(0, 1)})

    Args:
        game: A flat game with at most 1,000 sequences.

    Returns:
        The equilibrium.

    Raises:
        ValueError: The game is too large, does not have two players, or is not constant-sum.
        MissingExtraError: scipy or python-flint is not installed; says how to install it.
        RuntimeError: No basis that HiGHS found is stable.
    """
    check_zero_sum(game)
    if game.n_sequences > LARGEST:
        raise ValueError(
            f"quasi_perfect is exact and takes games of at most {LARGEST:,} sequences; "
            f"{game.name} has {game.n_sequences:,}: solve it with a falling floor instead"
        )
    program, trembles = _Program(game), FIRST
    while trembles >= LAST:
        reaches = program.stable(trembles)
        if reaches is not None:
            return _result(game, program, reaches, trembles)
        trembles /= FALL
    raise RuntimeError(
        f"no basis that HiGHS found for {game.name} stays optimal for smaller trembles"
    )


def _result(
    game: FlatGame, program: _Program, reaches: np.ndarray, trembles: Fraction
) -> QuasiPerfect:
    """Make the result from perturbed own reaches."""
    limits = [Fraction(1)] * game.n_sequences
    for infoset, sequences in enumerate(program.sequences):
        parent_reaches = reaches[program.parent_sequence[infoset]]
        # For `e -> 0`, the ratio of two polynomials tends to the ratio of their coefficients at the
        # lowest power of the denominator.
        order = int(np.flatnonzero(parent_reaches)[0])
        for s in sequences:
            limits[s] = reaches[s, order] / parent_reaches[order]
    by_label = {
        label: {
            action: limits[s]
            for action, s in zip(game.infoset_actions[infoset], sequences, strict=True)
        }
        for (infoset, sequences), label in zip(
            enumerate(program.sequences), game.infoset_labels, strict=True
        )
    }
    second_begin = game.form.player_sequences[1]
    value = sum(
        v * reaches[row, 0] * reaches[second_begin + column, 0] for row, column, v in program.payoff
    )
    return QuasiPerfect(
        Policy(game, np.array([float(p) for p in limits])),
        by_label,
        Fraction(value) * Fraction(game.unit),
        trembles,
        tuple(map(tuple, reaches.tolist())),
    )


class _PlayerSequences(NamedTuple):
    """Sequences and infosets of one player."""

    first: int
    """First sequence, the empty one."""
    size: int
    """Number of sequences."""
    infosets: range
    """Infosets of the player."""


class _Program:
    """Perturbed programs of a game, with payoffs as fractions and own reaches as polynomials in
    ``e``."""

    def __init__(self, game: FlatGame) -> None:
        form = game.form
        self.game = game
        self.sides = [
            _PlayerSequences(
                int(form.player_sequences[p]),
                int(form.player_sequences[p + 1] - form.player_sequences[p]),
                range(int(form.player_infosets[p]), int(form.player_infosets[p + 1])),
            )
            for p in range(2)
        ]
        entries = payoff_matrix(form)
        self.payoff = [
            (int(row), int(column), fraction_of(float(value)))
            for row, column, value in zip(entries.row, entries.col, entries.data, strict=True)
        ]
        self.parent_sequence = form.infoset_parent.astype(int).tolist()
        self.sequences = [
            np.arange(game.n_sequences)[game.sequences(infoset)].tolist()
            for infoset in range(game.n_infosets)
        ]
        length = np.zeros(game.n_sequences, dtype=int)
        for infoset in range(game.n_infosets):  # Earlier infosets have smaller numbers.
            length[self.sequences[infoset]] = length[self.parent_sequence[infoset]] + 1
        self.length = length
        self.least = _zeros(game.n_sequences, int(length.max()) + 1)
        for s, k in enumerate(length.tolist()):
            self.least[s, k] = Fraction(k > 0)

    def stable(self, trembles: Fraction) -> np.ndarray | None:
        """Compute own reaches for all small ``e`` from an optimal basis for a single ``e``.

        Returns:
            Object array (sequences, powers) of fractions; None if the basis is not stable.
        """
        least = np.where(self.length > 0, float(trembles) ** self.length, 0.0)
        optimal = optimum(self.game, least)
        has_more = optimal.reach - least > POSITIVE * np.maximum(least, float(trembles) ** 3)
        is_tight = optimal.slack <= POSITIVE
        first_basis, second_basis = self._basis(has_more, is_tight | has_more)
        return self._solve(first_basis, second_basis)

    def _basis(self, has_more: np.ndarray, is_tight: np.ndarray) -> tuple[list[int], list[int]]:
        """Select the sequences of each player that are in a basis.

        All sequences above the minimum own reach are in it.  Other sequences without slack are
        added until the system is square.

        Args:
            has_more: bool (sequences,): True if the own reach exceeds the minimum.
            is_tight: bool (sequences,): True if the slack is 0.
        """
        chosen = []
        for player in range(2):
            side = self.sides[player]
            sequences = np.arange(side.first, side.first + side.size)
            # Required sequences come first, because elimination selects the earliest ones.
            chosen.append(
                [
                    *sequences[has_more[sequences]].tolist(),
                    *sequences[is_tight[sequences] & ~has_more[sequences]].tolist(),
                ]
            )
        system = self._system(*chosen)
        rows, columns = (1 + len(side.infosets) for side in self.sides)
        values = list(range(len(chosen[0]), len(chosen[0]) + columns))
        # Constraints and values of infosets are in every basis, so they come before sequences.
        by_column = _independent(system, values + list(range(len(chosen[0]))))
        across = [list(line) for line in zip(*system, strict=True)]
        by_row = _independent(across, list(range(len(system))))
        first_basis = [chosen[0][c] for c in by_column if c < len(chosen[0])]
        second_basis = [chosen[1][r - rows] for r in by_row if r >= rows]
        return first_basis, second_basis

    def _system(self, first_basis: list[int], second_basis: list[int]) -> list[list[Fraction]]:
        """Make the matrix of the linear system of a basis.

        Rows are the constraints of player 0, then sequences of player 1.  Columns are sequences of
        player 0, then the values of player 1's infosets.
        """
        lines = _constraints(self, 0, first_basis)
        width = 1 + len(self.sides[1].infosets)
        lines = [line + [Fraction(0)] * width for line in lines]
        column_of = {s: column for column, s in enumerate(first_basis)}
        row_of = {s - self.sides[1].first: row for row, s in enumerate(second_basis)}
        below = [[Fraction(0)] * len(first_basis) for _ in second_basis]
        for row, column, v in self.payoff:
            if row in column_of and column in row_of:
                below[row_of[column]][column_of[row]] -= v
        values = _constraints(self, 1, second_basis)
        for row, line in enumerate(below):
            line.extend(values[k][row] for k in range(width))
        return lines + below

    def _solve(self, first_basis: list[int], second_basis: list[int]) -> np.ndarray | None:
        """Compute own reaches for all small ``e`` from a basis.

        Returns:
            Object array (sequences, powers) of fractions; None if the system is not square or is
            singular, or if the basis is not stable.
        """
        system = self._system(first_basis, second_basis)
        least = self.least
        powers = self.least.shape[1]
        if len(system) != len(first_basis) + 1 + len(self.sides[1].infosets):
            return None
        first, second = self.sides
        gain = _zeros(self.game.n_sequences, powers)  # A' l below player 1's, A m below player 0's.
        for row, column, v in self.payoff:
            gain[second.first + column] += v * least[row]
            gain[row] += v * least[second.first + column]
        right = np.concatenate([self._right_side(0), gain[second_basis]])
        across = [list(line) for line in zip(*system, strict=True)]
        # The dual of the same system: y' and the values of player 0.
        left = np.concatenate([gain[first_basis], self._right_side(1)])
        solved, dual = _solution(system, right), _solution(across, left)
        if solved is None or dual is None:
            return None
        reach, rows = least.copy(), 1 + len(first.infosets)
        reach[first_basis] += solved[: len(first_basis)]
        reach[second_basis] += dual[rows:]
        values = [dual[:rows], solved[len(first_basis) :]]
        slack = self._slacks(reach, values)
        inside = np.concatenate([reach - least, slack])
        return reach if all(map(_is_positive, inside)) else None

    def _right_side(self, player: int) -> np.ndarray:
        """Compute ``e - E l``, the right side of every constraint less the minimum own reaches."""
        lines = 1 + len(self.sides[player].infosets)
        right = _zeros(lines, self.least.shape[1])
        right[0, 0] = Fraction(1)
        for line, infoset in enumerate(self.sides[player].infosets, start=1):
            right[line] += self.least[self.parent_sequence[infoset]]
            for s in self.sequences[infoset]:
                right[line] -= self.least[s]
        return right

    def _slacks(self, reach: np.ndarray, values: list[np.ndarray]) -> np.ndarray:
        """Compute the reduced cost of each sequence as a polynomial in ``e``: the loss per unit of
        additional own reach."""
        first, second = self.sides
        slack = _zeros(*reach.shape)
        for row, column, v in self.payoff:
            slack[row] -= v * reach[second.first + column]
            slack[second.first + column] += v * reach[row]
        for side, value, sign in ((first, values[0], -1), (second, values[1], 1)):
            slack[side.first] -= sign * value[0]
            for line, infoset in enumerate(side.infosets, start=1):
                slack[self.parent_sequence[infoset]] += sign * value[line]
                for s in self.sequences[infoset]:
                    slack[s] -= sign * value[line]
        return slack


def _constraints(program: _Program, player: int, sequences: list[int]) -> list[list[Fraction]]:
    """Make some columns of the constraints of a player's own reaches.

    Row 0 is the empty sequence.  In the row of an infoset, its actions have 1, and its parent
    sequence has -1.
    """
    side, column_of = program.sides[player], {s: column for column, s in enumerate(sequences)}
    rows = [[Fraction(0)] * len(sequences) for _ in range(1 + len(side.infosets))]
    if side.first in column_of:
        rows[0][column_of[side.first]] = Fraction(1)
    for line, infoset in enumerate(side.infosets, start=1):
        if program.parent_sequence[infoset] in column_of:
            rows[line][column_of[program.parent_sequence[infoset]]] -= 1
        for s in program.sequences[infoset]:
            if s in column_of:
                rows[line][column_of[s]] += 1
    return rows


def fraction_of(number: float) -> Fraction:
    """Convert a number to a simple fraction that equals it to rounding, or else exactly."""
    simple = Fraction(number).limit_denominator(DENOMINATOR)
    return simple if abs(float(simple) - number) <= 1e-14 * abs(number) else Fraction(number)


def _zeros(rows: int, columns: int) -> np.ndarray:
    """Make an object array (rows, columns) of zero fractions."""
    zeros = np.empty((rows, columns), dtype=object)
    zeros[:] = Fraction(0)
    return zeros


def _is_positive(polynomial: np.ndarray) -> bool:
    """Return whether a polynomial in ``e``, by coefficients, is at least 0 for all small ``e``."""
    leading = next((c for c in polynomial.tolist() if c), 0)
    return leading >= 0


def _matrix(lines: Any) -> Any:
    """Convert rows of fractions to a matrix of python-flint."""
    flint = needs(*FLINT)
    matrix = flint.fmpq_mat(len(lines), len(lines[0]))
    for row, line in enumerate(lines):
        for column, entry in enumerate(line):
            if entry:
                matrix[row, column] = flint.fmpq(entry.numerator, entry.denominator)
    return matrix


def _independent(lines: list[list[Fraction]], order: list[int]) -> list[int]:
    """Select a maximal set of linearly independent columns, preferring early ones in an order."""
    reduced, rank = _matrix([[line[c] for c in order] for line in lines]).rref()
    independent, column = [], 0
    for row in range(rank):
        while reduced[row, column] == 0:
            column += 1
        independent.append(order[column])
    return independent


def _solution(lines: list[list[Fraction]], right: np.ndarray) -> np.ndarray | None:
    """Solve a square system for every column of the right side.

    Args:
        lines: Rows of the matrix.
        right: Object array (rows, columns) of fractions.

    Returns:
        Object array (rows, columns) of fractions; None if the system is singular.
    """
    try:
        solved = _matrix(lines).solve(_matrix(right.tolist()))
    except ZeroDivisionError:
        return None
    rows = [[Fraction(int(q.p), int(q.q)) for q in row] for row in solved.tolist()]
    return np.array(rows, dtype=object).reshape(right.shape)
