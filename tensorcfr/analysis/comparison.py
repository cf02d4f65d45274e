"""Comparison of policies: exact values of every seating, and the infosets where two policies
differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from itertools import chain, pairwise, product
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import EXACT, Kind, Whole, brief, checked
from .._util.one_line import OneLine
from ..evaluation import Evaluation, evaluate
from ..evaluation.metrics import PolicyLike, evaluate_probabilities
from ..formats.policies import find_policy
from ..model.chunked_form import buckets_by_part, own_buckets
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.infoset_rows import InfosetRows
from ..model.locks import Locks, locks_for
from ..model.policy import Policy
from ..model.sequence_table import policy_of
from ..solvers.solution import Solution
from .luck import AdjustedPlays, aivat
from .policy_values import Values, values
from .simulation import simulate


@dataclass(frozen=True, eq=False, repr=False)
class HeadToHead(OneLine):
    """Exact values of policies against each other."""

    names: tuple[str, ...]
    """Names of the policies."""
    values: np.ndarray
    """float64 (policies,) * players + (players,): ``values[a, b]`` has the values of both players
    if policy ``a`` plays for player 0 and policy ``b`` for player 1."""
    played: Mapping[tuple[int, ...], AdjustedPlays]
    """Plays that were asked for, by seating, with and without luck."""

    @property
    def scores(self) -> np.ndarray:
        """float64 (policies, policies) for two players: the value of the row's policy against the
        column's policy, averaged over both seats.

        Raises:
            ValueError: The game has another number of players.
        """
        if self.values.ndim != 3:
            raise ValueError(f"scores are for 2 players, not for {self.values.ndim - 1}")
        return (self.values[..., 0] + self.values[..., 1].T) / 2

    def __str__(self) -> str:
        width = max(map(len, self.names))
        if self.values.ndim != 3:
            return "\n".join([f"<HeadToHead of {', '.join(self.names)}>", *self._matches()])
        head = "  ".join(name.rjust(max(10, len(name))) for name in self.names)
        lines = [f"{'':{width}}  {head}"]
        for name, row in zip(self.names, self.scores.tolist(), strict=True):
            cells = [
                f"{score + 0.0:+.6f}".rjust(max(10, len(column_name)))
                for column_name, score in zip(self.names, row, strict=True)
            ]
            lines.append(f"{name:{width}}  {'  '.join(cells)}")
        return "\n".join([*lines, *self._matches()])

    def _matches(self) -> Iterator[str]:
        """Yield for each seating a line with player 0's result in the plays."""
        for seats, adjusted in self.played.items():
            names = " against ".join(self.names[policy] for policy in seats)
            yield f"{names}: {adjusted.intervals()[0]}; with luck {adjusted.unadjusted()[0]}"


@checked()
def head_to_head(
    game: Compiled,
    policies: Annotated[
        Mapping[str, PolicyLike] | Sequence[PolicyLike], Kind((Mapping, Sequence), "policies")
    ],
    *,
    plays: Annotated[int, Whole(0, EXACT)] = 0,
    seed: Annotated[int, Whole(0)] = 0,
) -> HeadToHead:
    """Compute the exact values of policies in every seating.

    Args:
        game: The game.
        policies: One or more policies by name; or a list, whose names are then numbers.
        plays: Number of plays of each seating to draw in addition, to show the result of a match.
            Their luck is removed by :func:`~tensorcfr.analysis.aivat`, with player 0's strategy
            known and the first policy as the baseline.
        seed: The same seed gives the same plays.

    Raises:
        ValueError: There is no policy, or one is not for this game.
    """
    if not isinstance(policies, Mapping):
        policies = {str(index): policy for index, policy in enumerate(policies)}
    if not policies:
        raise ValueError("policies: there is no policy to play")
    listed = [
        find_policy(game, policy, f"policies[{brief(name)}]") for name, policy in policies.items()
    ]
    seating_values = np.empty((len(listed),) * game.n_players + (game.n_players,))
    played = {}
    for seats in product(range(len(listed)), repeat=game.n_players):
        profile = seated([listed[policy] for policy in seats])
        seating_values[seats] = evaluate_probabilities(game, profile.probabilities).values
        if plays:
            drawn = simulate(game, profile, plays, seed)
            played[seats] = aivat(drawn, profile, baseline=listed[0], known=[0])
    return HeadToHead(tuple(policies), seating_values, played)


def seated(policies: Sequence[Policy]) -> Policy:
    """Combine policies of a game into one profile; each player plays their strategies of their
    policy."""
    game, probabilities = policies[0].game, policies[0].probabilities.copy()
    for part, (base, buckets) in enumerate(buckets_by_part(game.chunks)):
        ends = own_buckets(game.chunks, part).tolist()
        for policy, bucket_range in zip(policies, pairwise(ends), strict=True):
            for first, actions, lanes in zip(
                *(array[slice(*bucket_range)] for array in buckets), strict=True
            ):
                # The numbers of a bucket are contiguous: actions x lanes from its first number on.
                bucket_numbers = slice(base + first, base + first + actions * lanes)
                probabilities[bucket_numbers] = policy.probabilities[bucket_numbers]
    return Policy(game, probabilities)


class Difference(NamedTuple):
    """Difference of two policies at one infoset."""

    infoset: str
    """Label of the infoset."""
    player: int
    """Player who acts."""
    reach: float
    """Probability that the infoset is reached, the mean of both policies."""
    total_variation: float
    """Half of the sum of the absolute differences of the probabilities, from 0 to 1."""
    value: float
    """Gain of the player from changing to the second policy at this infoset."""


class Differing(NamedTuple):
    """Differences of two policies at some infosets of one player."""

    infosets: InfosetRows
    """The infosets."""
    reach: np.ndarray
    """float64 (infosets,), like the next two: as :attr:`Comparison.reach`."""
    total_variation: np.ndarray
    value: np.ndarray

    def largest(self, count: int) -> list[Difference]:
        """Return the infosets with the largest reach times total variation, largest first."""
        order = np.argsort(-self.reach * self.total_variation, kind="stable")[:count]
        labels = [self.infosets.labels[index] for index in order.tolist()]
        columns = (column[order].tolist() for column in self[1:])
        return [
            Difference(row[0], self.infosets.player, *row[1:])
            for row in zip(labels, *columns, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of two policies of one game, and their values.

    A game in chunks is not made flat: the infosets of one public node are compared at a time.
    """

    first: Values
    """Values of the first policy."""
    second: Values
    """Values of the second policy."""
    locks: tuple[Locks | None, Locks | None] = (None, None)
    """Locks of each policy, which best responses to it obey."""

    def __repr__(self) -> str:
        return f"<Comparison of two policies for {self.game.name}>"

    @property
    def game(self) -> CompiledGame:
        """The game."""
        return self.first.game

    @cached_property
    def evaluations(self) -> tuple[Evaluation, Evaluation]:
        """Values and best-response values of both policies. Best responses to a solution obey its
        locks."""
        first, second = (
            evaluate(self.game, policy_values.policy, locks=locks)
            if locks
            else policy_values.evaluation
            for policy_values, locks in zip((self.first, self.second), self.locks, strict=True)
        )
        return first, second

    def all_rows(self) -> Iterator[Differing]:
        """Yield the differences at all infosets, one public node at a time.

        The order is that of :meth:`~tensorcfr.analysis.Values.all_rows`.
        """
        for first, second in zip(self.first.all_rows(), self.second.all_rows(), strict=True):
            change = second.probability - first.probability
            yield Differing(
                first.infosets,
                (first.reach + second.reach) / 2,
                np.abs(change).sum(axis=1) / 2,
                second.own_reach * (change * first.counterfactual).sum(axis=1),
            )

    @cached_property
    def total_variation(self) -> np.ndarray:
        """float64 (infosets,): half of the sum of the absolute differences of probabilities."""
        return self._column("total_variation")

    @cached_property
    def reach(self) -> np.ndarray:
        """float64 (infosets,): mean of the reaches under both policies."""
        return self._column("reach")

    @cached_property
    def value(self) -> np.ndarray:
        """float64 (infosets,): gain of the player from changing to the second policy at the
        infoset.

        It is the change of the infoset's counterfactual value, with the first policy's action
        values and the second policy's probabilities, times the second policy's own reach. Summed
        over a player's infosets it is the gain of the second policy over the first against the
        others' first policies.
        """
        return self._column("value")

    def _column(self, name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(getattr(rows, name) for rows in self.all_rows())])

    @cached_property
    def distance(self) -> tuple[float, ...]:
        """Expected number of decisions, per player, at which the two policies would differ: the sum
        over infosets of reach times total variation."""
        distances = [0.0] * self.game.n_players
        for rows in self.all_rows():
            distances[rows.infosets.player] += float(rows.reach @ rows.total_variation)
        return tuple(distances)

    def differences(self, count: int | None = 10) -> list[Difference]:
        """Return the infosets with the largest reach times total variation, largest first.

        Args:
            count: Number of infosets; None for all.
        """
        count = sys.maxsize if count is None else count
        candidates = chain.from_iterable(rows.largest(count) for rows in self.all_rows())
        return nlargest(count, candidates, key=lambda row: row.reach * row.total_variation)

    def __str__(self) -> str:
        lines = [f"{self.game.name}: where two policies differ"]
        for which, evaluation, locks in zip(
            ("first", "second"), self.evaluations, self.locks, strict=True
        ):
            player_values = ", ".join(f"{value + 0.0:+.6g}" for value in evaluation.values)
            locked = f", {locks.description}" if locks else ""
            lines.append(
                f"  {which}: value {player_values}, "
                f"exploitability {evaluation.exploitability:.6g}{locked}"
            )
        lines += [
            f"  player {player}: differs from the first in {distance:.4g} decisions of a game"
            for player, distance in enumerate(self.distance)
        ]
        rows = [row for row in self.differences() if row.total_variation > 0]
        if rows:
            width = max(len("infoset"), *(len(row.infoset) for row in rows))
            lines.append(f"  {'infoset':{width}}  player   reach  variation       gain")
        lines += [
            f"  {row.infoset:{width}}  {row.player:6}  {row.reach:6.4f}  {row.total_variation:9.4f}"
            f"  {row.value + 0.0:+9.2g}"
            for row in rows
        ]
        return "\n".join(lines)


def compare(first: Solution | PolicyLike, second: Solution | PolicyLike) -> Comparison:
    """Compare two solutions: where they differ, weighted by reach, and the values of the
    differences.

    Best responses to a solution with locks obey the locks, as in its own evaluation.

    Args:
        first: A solution, or a :class:`tensorcfr.Policy`.
        second: A solution, or a policy in any form that :func:`tensorcfr.formats.find_policy`
            reads.

    Raises:
        TypeError: The first is neither a solution nor a policy.
        ValueError: The second is not for the first one's game.
    """
    first_policy = policy_of(first)
    if not isinstance(first_policy, Policy):
        raise TypeError(f"first must be a Solution or a Policy, not {brief(first)}")
    game = first_policy.game
    second_policy = find_policy(game, second, "second")
    locks = [
        locks_for(game, solution.locks)
        if isinstance(solution, Solution) and solution.locks
        else None
        for solution in (first, second)
    ]
    return Comparison(values(game, first_policy), values(game, second_policy), (locks[0], locks[1]))
