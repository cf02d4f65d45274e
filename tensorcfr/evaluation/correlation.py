"""How far a correlated plan is from the correlated equilibria of a game, exactly.

A mediator draws a profile of strategies from a known distribution, the *plan*, and recommends to
each player what the drawn profile does.  The plan is an equilibrium if nobody gains by deviating.
The kinds of equilibrium differ in what a player knows when they deviate:

* ``"cce"``, coarse correlated equilibrium of the normal form: nothing but the plan.  The player
  deviates before the play, for all of it.
* ``"efcce"``, extensive-form coarse correlated equilibrium: the player has followed so far, is at
  an infoset, and has not seen the recommendation there.
* ``"efce"``, extensive-form correlated equilibrium: the same, and has seen it.  Who deviates gets
  no further recommendations.
* ``"ce"``, correlated equilibrium of the normal form: the player has seen the recommendations for
  all their infosets before the play.

Each kind is contained in the one before it.  A Nash equilibrium, as a plan of one profile, is of
all kinds.

Sources: H. Moulin, J.-P. Vial, "Strategically zero-sum games", 1978 (cce); R. Aumann, "Subjectivity
and correlation in randomized strategies", 1974 (ce); B. von Stengel, F. Forges, "Extensive-form
correlated equilibrium: definition and computational complexity", Mathematics of Operations Research
33, 2008 (efce); G. Farina, T. Bianchi, T. Sandholm, "Coarse correlation in extensive-form games",
AAAI 2020 (efcce).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from .._util.arguments import Kind, OneOf, checked
from .._util.memory import free_memory
from ..errors import MemoryLimitError
from ..formats.policies import find_policy
from ..kernels.evaluation import realization_plan
from ..model.arguments import Compiled
from ..model.game import CompiledGame
from ..payoff import product
from .metrics import PolicyLike

KINDS = ("cce", "efcce", "efce", "ce")
"""Kinds of correlated equilibrium, from the weakest to the strongest."""
TOLERANCE = 1e-9
"""By how much the probabilities of a plan may miss 1."""

CorrelatedPlan = Sequence[tuple[float, PolicyLike]]
"""Profiles of strategies, each with its probability."""


@dataclass(frozen=True)
class CorrelationGap:
    """What players gain by not following a mediator, in the game's own unit of utility."""

    kind: str
    """The kind of equilibrium, one of :data:`KINDS`."""
    values: tuple[float, ...]
    """Expected value of each player when all follow."""
    deviations: tuple[float, ...]
    """Expected value of each player's best deviation while the others follow."""

    @property
    def gains(self) -> tuple[float, ...]:
        """What each player's best deviation gains; 0 where to follow is better than all of them,
        as it may be before a coarse recommendation."""
        return tuple(max(b - v, 0.0) for b, v in zip(self.deviations, self.values, strict=True))

    @property
    def gap(self) -> float:
        """The largest gain of a player: the plan is an equilibrium up to this."""
        return max(self.gains)

    @property
    def distance(self) -> float:
        """Sum of the gains over players, as OpenSpiel's ``CCEDist``, ``EFCEDist``, ... have it."""
        return sum(self.gains)


@checked()
def correlation_gap(
    game: Compiled,
    plan: Annotated[CorrelatedPlan, Kind((Sequence,), "pairs of probability and policy")],
    kind: Annotated[str, OneOf(KINDS)] = "cce",
) -> CorrelationGap:
    """The gain of each player's best deviation from a correlated plan, exactly.

    It takes a value for every sequence and profile; ``"efcce"`` and ``"efce"`` a best response
    below every infoset: for small games.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.games import MatrixGame
    >>> chicken = compile_game(MatrixGame([[[0, 7], [2, 6]], [[0, 2], [7, 6]]]))
    >>> def profile(row, column):
    ...     return {"P0": {"01"[row]: 1.0}, "P1": {"01"[column]: 1.0}}
    >>> plan = [(0.5, profile(1, 1)), (0.25, profile(1, 0)), (0.25, profile(0, 1))]
    >>> correlation_gap(chicken, plan, "ce").distance
    0.0

    Args:
        game: The game.
        plan: Profiles with their probabilities, which sum to 1.  A profile may mix: for
            ``"efce"`` the mediator draws an action whenever a player comes to an infoset, for
            ``"ce"`` profiles must be pure.
        kind: What players know when they deviate: ``"cce"``, ``"efcce"``, ``"efce"`` or ``"ce"``.

    Raises:
        ValueError: The probabilities are none, or do not sum to 1; a policy is not one for this
            game; a profile mixes where it must be pure (names the infoset).
        MemoryLimitError: The values of all profiles would not fit.
    """
    weights, strategies = _read(game, plan)
    values, deviations = [], []
    for player in range(game.n_players):
        faced = _face(game, player, weights, strategies)
        values.append(game.unit * float(np.sum(faced.weight[:, None] * faced.reach * faced.payoff)))
        deviations.append(game.unit * _DEVIATE[kind](faced))
    return CorrelationGap(kind, tuple(values), tuple(deviations))


def _read(game: CompiledGame, plan: CorrelatedPlan) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities float64 (profiles,) and strategies float64 (profiles, sequences), checked."""
    if not plan:
        raise ValueError("a correlated plan needs at least one profile")
    needed = 4 * 8 * len(plan) * game.n_sequences
    if needed > (limit := free_memory()):
        raise MemoryLimitError(f"the values of {len(plan):,} profiles", needed, limit)
    try:
        weights = np.array([float(weight) for weight, _ in plan])
    except (TypeError, ValueError):
        raise ValueError("a correlated plan is pairs of probability and policy") from None
    if not (weights >= 0.0).all() or abs(weights.sum() - 1.0) > TOLERANCE:
        raise ValueError(
            f"the probabilities of a correlated plan are from 0 and sum to 1, not {weights.sum():g}"
        )
    strategies = [find_policy(game, policy).probabilities for _, policy in plan]
    return weights, np.array(strategies)


class _Faced(NamedTuple):
    """What one player meets, in the player's own sequences (the first is the empty one)."""

    game: CompiledGame
    player: int
    weight: np.ndarray
    """float64 (profiles,): probabilities."""
    strategy: np.ndarray
    """float64 (profiles, sequences): probabilities of the recommendations."""
    reach: np.ndarray
    """float64 (profiles, sequences): own reach of who follows."""
    payoff: np.ndarray
    """float64 (profiles, sequences): counterfactual payoffs against the others of a profile."""
    below: list[list[int]]
    """The infosets right after each sequence."""
    first: list[slice]
    """The sequences of each infoset."""


def _face(game: CompiledGame, player: int, weights: np.ndarray, strategies: np.ndarray) -> _Faced:
    """The view of one player."""
    form = game.form
    begin, end = form.player_sequences[player : player + 2].tolist()
    reaches, payoffs = np.empty((2, len(weights), end - begin))
    reach = np.empty(form.n_sequences)
    for k, strategy in enumerate(strategies):
        realization_plan(form, strategy, reach)
        reaches[k], payoffs[k] = reach[begin:end], product(form, player, reach)
    first_infoset, last_infoset = form.player_infosets[player : player + 2].tolist()
    below: list[list[int]] = [[] for _ in range(end - begin)]
    sequences = []
    for infoset in range(first_infoset, last_infoset):
        below[int(form.infoset_parent[infoset]) - begin].append(infoset - first_infoset)
        own = game.sequences(infoset)
        sequences.append(slice(own.start - begin, own.stop - begin, own.step))
    own_strategies = strategies[:, begin:end]
    return _Faced(game, player, weights, own_strategies, reaches, payoffs, below, sequences)


def _best(faced: _Faced, infosets: list[int], payoff: np.ndarray) -> float:
    """What the best fixed strategy earns at some infosets and below, from payoffs float64
    (sequences,)."""
    return sum(
        max(
            float(payoff[s]) + _best(faced, faced.below[s], payoff)
            for s in _sequences(faced, infoset)
        )
        for infoset in infosets
    )


def _sequences(faced: _Faced, infoset: int) -> range:
    """The sequences of an infoset, action by action."""
    own = faced.first[infoset]
    return range(own.start, own.stop, own.step or 1)


def _coarse(faced: _Faced) -> float:
    """The best strategy against the others of all profiles."""
    payoff = faced.weight @ faced.payoff
    return float(payoff[0]) + _best(faced, faced.below[0], payoff)


def _correlated(faced: _Faced) -> float:
    """The best strategy against the others of the profiles that recommend the same."""
    _check_pure(faced)
    groups: dict[bytes, list[int]] = {}
    for k, strategy in enumerate(faced.strategy):
        groups.setdefault(strategy.tobytes(), []).append(k)
    total = 0.0
    for group in groups.values():
        payoff = faced.weight[group] @ faced.payoff[group]
        total += float(payoff[0]) + _best(faced, faced.below[0], payoff)
    return total


def _check_pure(faced: _Faced) -> None:
    """Recommendations of whole strategies must be pure."""
    for infoset in range(len(faced.first)):
        own = faced.strategy[:, faced.first[infoset]]
        if not np.isin(own, (0.0, 1.0)).all():
            first = int(faced.game.form.player_infosets[faced.player])
            raise ValueError(
                "a correlated equilibrium of the normal form is one of pure profiles, and a "
                f"profile mixes at {faced.game.infoset_labels[first + infoset]!r}; "
                "kind='efce' takes mixed ones"
            )


def _extensive(faced: _Faced, infoset: int, *, seen: bool) -> float:
    """What a player earns from an infoset on, to which they have followed, and who deviates there
    or later where that is best.

    Args:
        faced: The view of the player.
        infoset: The infoset.
        seen: Whether they see the recommendation at an infoset before they deviate there.
    """
    followed = []
    for s in _sequences(faced, infoset):
        here = float(np.sum(faced.weight * faced.reach[:, s] * faced.payoff[:, s]))
        later = sum(_extensive(faced, below, seen=seen) for below in faced.below[s])
        if seen:
            payoff = (faced.weight * faced.reach[:, s]) @ faced.payoff
            followed.append(max(here + later, _best(faced, [infoset], payoff)))
        else:
            followed.append(here + later)
    if seen:
        return sum(followed)
    before = int(faced.game.form.infoset_parent[_global(faced, infoset)])
    before -= int(faced.game.form.player_sequences[faced.player])
    payoff = (faced.weight * faced.reach[:, before]) @ faced.payoff
    return max(sum(followed), _best(faced, [infoset], payoff))


def _global(faced: _Faced, infoset: int) -> int:
    """Number of an infoset among those of all players."""
    return int(faced.game.form.player_infosets[faced.player]) + infoset


def _from_the_root(faced: _Faced, *, seen: bool) -> float:
    """The same from the beginning."""
    at_once = float(faced.weight @ faced.payoff[:, 0])
    return at_once + sum(_extensive(faced, below, seen=seen) for below in faced.below[0])


_DEVIATE = {
    "cce": _coarse,
    "efcce": lambda faced: _from_the_root(faced, seen=False),
    "efce": lambda faced: _from_the_root(faced, seen=True),
    "ce": _correlated,
}
"""For each kind, the expected value of the best deviation."""
