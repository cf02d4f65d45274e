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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from .._util.arguments import Kind, OneOf, checked
from .._util.memory import require
from .._util.one_line import OneLine
from ..formats.policies import find_policy
from ..kernels.evaluation import best_total, realization_plan
from ..model.arguments import Flat
from ..model.flat_game import FlatGame
from ..payoff import product
from .metrics import PolicyLike

KINDS = ("cce", "efcce", "efce", "ce")
"""Kinds of correlated equilibrium, from the weakest to the strongest."""
TOLERANCE = 1e-9
"""By how much the probabilities of a plan may miss 1."""

CorrelatedPlan = Sequence[tuple[float, PolicyLike]]
"""Profiles of strategies, each with its probability."""


@dataclass(frozen=True, repr=False)
class CorrelationGap(OneLine):
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
    game: Flat,
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
    if kind == "ce":
        return _normal_form(game, weights, strategies)
    faced = [meet(game, player, weights, strategies) for player in range(game.n_players)]
    return gap_of(game, faced, kind)


def _read(game: FlatGame, plan: CorrelatedPlan) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities float64 (profiles,) and strategies float64 (profiles, sequences), checked."""
    if not plan:
        raise ValueError("a correlated plan needs at least one profile")
    require(4 * 8 * len(plan) * game.n_sequences, f"the values of {len(plan):,} profiles")
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


def meet(game: FlatGame, player: int, weights: np.ndarray, strategies: np.ndarray) -> np.ndarray:
    """What a player meets in a plan: all that the gains of deviations depend on.

    Args:
        game: The game.
        player: The player.
        weights: float64 (profiles,): their probabilities.
        strategies: float64 (profiles, sequences).

    Returns:
        float64 (sequences of the player, the same): the sum over profiles of probability times own
        reach of the first sequence times counterfactual payoff of the second.
    """
    form = game.form
    own = form.of_player(player)
    reaches, payoffs = np.empty((2, len(weights), own.stop - own.start))
    reach = np.empty(form.n_sequences)
    for k, strategy in enumerate(strategies):
        realization_plan(form, strategy, reach)
        reaches[k], payoffs[k] = reach[own], product(form, player, reach)
    found: np.ndarray = (weights[:, None] * reaches).T @ payoffs
    return found


def gap_of(game: FlatGame, faced: Sequence[np.ndarray], kind: str) -> CorrelationGap:
    """The gap to every kind but ``"ce"``, from what :func:`meet` says of each player."""
    deviate = _DEVIATE[kind]
    return CorrelationGap(
        kind,
        tuple(game.unit * float(met.trace()) for met in faced),
        tuple(game.unit * deviate(game, player, met) for player, met in enumerate(faced)),
    )


def _best(game: FlatGame, player: int, payoff: np.ndarray) -> np.ndarray:
    """What a player's sequences are worth if the best fixed strategy is played after them, from
    payoffs; float64 (sequences of the player,) both."""
    own, value = game.form.of_player(player), np.zeros(game.n_sequences)
    value[own] = payoff
    best_total(game.form, value, np.empty(game.n_players), None)
    return value[own]


def _coarse(game: FlatGame, player: int, met: np.ndarray) -> float:
    """The best strategy against the others of all profiles."""
    return float(_best(game, player, met[0])[0])


def _extensive(game: FlatGame, player: int, met: np.ndarray, *, seen: bool) -> float:
    """What a player earns who follows, and deviates at an infoset where that is best; with ``seen``
    they see the recommendation there before."""
    form = game.form
    begin = int(form.player_sequences[player])
    first, last = form.player_infosets[player : player + 2].tolist()
    followed = met.diagonal().copy()
    for infoset in range(last - 1, first - 1, -1):
        own = game.sequences(infoset)
        actions = np.arange(own.start, own.stop, own.step) - begin
        parent = int(form.infoset_parent[infoset]) - begin
        if seen:
            deviated = [_best(game, player, met[action])[actions].max() for action in actions]
            followed[parent] += np.maximum(followed[actions], deviated).sum()
        else:
            deviated_before = _best(game, player, met[parent])[actions].max()
            followed[parent] += max(followed[actions].sum(), deviated_before)
    return float(followed[0])


_DEVIATE: Mapping[str, Callable[[FlatGame, int, np.ndarray], float]] = {
    "cce": _coarse,
    "efcce": partial(_extensive, seen=False),
    "efce": partial(_extensive, seen=True),
}
"""For each kind, the expected value of the best deviation, in the unit of the arrays."""


def _normal_form(game: FlatGame, weights: np.ndarray, strategies: np.ndarray) -> CorrelationGap:
    """The gap to ``"ce"``: a player deviates against the others of the profiles that recommend the
    same to them."""
    values, deviations = [], []
    for player in range(game.n_players):
        own = game.form.of_player(player)
        _check_pure(game, player, strategies)
        groups: dict[bytes, list[int]] = {}
        for k, strategy in enumerate(strategies):
            groups.setdefault(strategy[own].tobytes(), []).append(k)
        faced = [meet(game, player, weights[g], strategies[g]) for g in groups.values()]
        values.append(game.unit * sum(float(met.trace()) for met in faced))
        deviations.append(game.unit * sum(_coarse(game, player, met) for met in faced))
    return CorrelationGap("ce", tuple(values), tuple(deviations))


def _check_pure(game: FlatGame, player: int, strategies: np.ndarray) -> None:
    """Recommendations of whole strategies must be pure."""
    own = game.form.of_player(player)
    mixes = ~np.isin(strategies[:, own], (0.0, 1.0)).all(axis=0)
    if mixes.any():
        infoset = int(game.form.owners[0][own][mixes].min())
        raise ValueError(
            "a correlated equilibrium of the normal form is one of pure profiles, and a "
            f"profile mixes at {game.infoset_labels[infoset]!r}; kind='efce' takes mixed ones"
        )
