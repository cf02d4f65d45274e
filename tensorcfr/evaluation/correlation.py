"""Exact distance of a correlated plan from the correlated equilibria of a game.

A mediator draws a profile of strategies from a known distribution, the *plan*, and recommends to
each player the actions of the drawn profile.  The plan is an equilibrium if nobody gains by
deviating.  The kinds of equilibrium differ in the knowledge of a player who deviates:

* ``"cce"``, coarse correlated equilibrium of the normal form: the player knows only the plan.  They
  deviate before the play, for all of it.
* ``"efcce"``, extensive-form coarse correlated equilibrium: the player has followed so far, is at
  an infoset, and has not seen the recommendation there.
* ``"efce"``, extensive-form correlated equilibrium: the player has followed so far, is at an
  infoset, and has seen the recommendation there.  After a deviation they get no further
  recommendations.
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

from .._util.argument_checks import Kind, OneOf, checked
from .._util.memory_budget import require
from .._util.one_line import OneLine
from ..formats.policies import find_policy
from ..kernels.evaluation import best_total, realization_plan
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..payoff import product
from .metrics import PolicyLike

KINDS = ("cce", "efcce", "efce", "ce")
"""Kinds of correlated equilibrium, from the weakest to the strongest."""
TOLERANCE = 1e-9
"""Largest allowed difference between 1 and the sum of a plan's probabilities."""

CorrelatedPlan = Sequence[tuple[float, PolicyLike]]
"""Pairs of a probability and a profile of strategies."""


@dataclass(frozen=True, repr=False)
class CorrelationGap(OneLine):
    """Players' gains from not following a mediator, in the game's own unit of utility."""

    kind: str
    """The kind of equilibrium, one of :data:`KINDS`."""
    values: tuple[float, ...]
    """Expected value of each player if all players follow."""
    deviations: tuple[float, ...]
    """Expected value of each player's best deviation while the others follow."""

    @property
    def gains(self) -> tuple[float, ...]:
        """Gain of each player's best deviation.

        It is 0 where following is better than every deviation, which can happen if the player must
        deviate before they see the recommendation.
        """
        return tuple(max(b - v, 0.0) for b, v in zip(self.deviations, self.values, strict=True))

    @property
    def gap(self) -> float:
        """Largest gain of a player: the plan is an ε-equilibrium with this ε."""
        return max(self.gains)

    @property
    def distance(self) -> float:
        """Sum of the gains over players; OpenSpiel calls it ``CCEDist``, ``EFCEDist``, ..."""
        return sum(self.gains)


@checked()
def correlation_gap(
    game: Flat,
    plan: Annotated[CorrelatedPlan, Kind((Sequence,), "pairs of probability and policy")],
    kind: Annotated[str, OneOf(KINDS)] = "cce",
) -> CorrelationGap:
    """Compute the gain of each player's best deviation from a correlated plan, exactly.

    It is meant for small games.  It computes a value for every pair of sequences and profile, and
    for ``"efcce"`` and ``"efce"`` a best response below every infoset.

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
        plan: Profiles with their probabilities, which sum to 1. A profile may mix: for ``"efce"``
            the mediator draws an action whenever a player reaches an infoset.  For ``"ce"``
            profiles must be pure.
        kind: Knowledge of a player who deviates: ``"cce"``, ``"efcce"``, ``"efce"`` or ``"ce"``.

    Raises:
        ValueError: The plan is empty, or its probabilities do not sum to 1; a policy does not fit
            this game; a profile mixes where it must be pure (names the infoset).
        MemoryLimitError: The values of all profiles would not fit.
    """
    weights, strategies = _read_plan(game, plan)
    if kind == "ce":
        return _normal_form(game, weights, strategies)
    matrices = [plan_payoffs(game, player, weights, strategies) for player in range(game.n_players)]
    return gap_of(game, matrices, kind)


def _read_plan(game: FlatGame, plan: CorrelatedPlan) -> tuple[np.ndarray, np.ndarray]:
    """Check a plan, and return its probabilities and strategies.

    Returns:
        float64 (profiles,) probabilities, and float64 (profiles, sequences) strategies.
    """
    if not plan:
        raise ValueError("a correlated plan needs at least one profile")
    require(4 * 8 * len(plan) * game.n_sequences, f"the values of {len(plan):,} profiles")
    try:
        weights = np.array([float(weight) for weight, _ in plan])
    except (TypeError, ValueError):
        raise ValueError("a correlated plan is a list of pairs (probability, policy)") from None
    if not (weights >= 0.0).all() or abs(weights.sum() - 1.0) > TOLERANCE:
        raise ValueError(
            "the probabilities of a correlated plan must be at least 0 and sum to 1; "
            f"their sum is {weights.sum():g}"
        )
    strategies = [find_policy(game, policy).probabilities for _, policy in plan]
    return weights, np.array(strategies)


def plan_payoffs(
    game: FlatGame, player: int, weights: np.ndarray, strategies: np.ndarray
) -> np.ndarray:
    """Compute the payoffs of a plan to a player, for each recommended sequence.

    The gains of all the player's deviations depend on the plan only through this matrix.

    Args:
        game: The game.
        player: The player.
        weights: float64 (profiles,): probability of each profile.
        strategies: float64 (profiles, sequences): strategies of each profile.

    Returns:
        float64 (sequences of the player, sequences of the player): the sum over profiles of
        probability times own reach of the row's sequence times counterfactual payoff of the
        column's sequence.
    """
    form = game.form
    sequences = form.of_player(player)
    reaches, payoffs = np.empty((2, len(weights), sequences.stop - sequences.start))
    reach = np.empty(form.n_sequences)
    for k, strategy in enumerate(strategies):
        realization_plan(form, strategy, reach)
        reaches[k], payoffs[k] = reach[sequences], product(form, player, reach)
    expected_payoffs: np.ndarray = (weights[:, None] * reaches).T @ payoffs
    return expected_payoffs


def gap_of(game: FlatGame, payoffs: Sequence[np.ndarray], kind: str) -> CorrelationGap:
    """Compute the gap to a kind other than ``"ce"`` from the matrices of :func:`plan_payoffs`, one
    per player."""
    deviate = _DEVIATE[kind]
    return CorrelationGap(
        kind,
        # The diagonal pairs each recommended sequence with its own payoff: everybody follows.
        tuple(game.unit * float(payoff_matrix.trace()) for payoff_matrix in payoffs),
        tuple(
            game.unit * deviate(game, player, payoff_matrix)
            for player, payoff_matrix in enumerate(payoffs)
        ),
    )


def _best(game: FlatGame, player: int, payoff: np.ndarray) -> np.ndarray:
    """Compute the values of a player's sequences if the best fixed strategy is played after them.

    Args:
        game: The game.
        player: The player.
        payoff: float64 (sequences of the player,): counterfactual payoffs.

    Returns:
        float64 (sequences of the player,).
    """
    sequences, value = game.form.of_player(player), np.zeros(game.n_sequences)
    value[sequences] = payoff
    best_total(game.form, value, np.empty(game.n_players), None)
    return value[sequences]


def _coarse(game: FlatGame, player: int, payoff_matrix: np.ndarray) -> float:
    """Compute the value of the best strategy against the mixture of all profiles."""
    return float(_best(game, player, payoff_matrix[0])[0])


def _extensive(game: FlatGame, player: int, payoff_matrix: np.ndarray, *, seen: bool) -> float:
    """Compute the value of a player who follows until the best infoset to deviate.

    With ``seen``, the player sees the recommendation at that infoset before they decide.
    """
    form = game.form
    begin = int(form.player_sequences[player])
    first, last = form.player_infosets[player : player + 2].tolist()
    followed = payoff_matrix.diagonal().copy()
    # Infosets run from the last to the first, because each adds its value to its parent sequence,
    # which belongs to an earlier infoset.
    for infoset in range(last - 1, first - 1, -1):
        sequences = game.sequences(infoset)
        actions = np.arange(sequences.start, sequences.stop, sequences.step) - begin
        parent = int(form.infoset_parent[infoset]) - begin
        if seen:
            # Each recommended action has its own best deviation: the player knows the action.
            deviated = [
                _best(game, player, payoff_matrix[action])[actions].max() for action in actions
            ]
            followed[parent] += np.maximum(followed[actions], deviated).sum()
        else:
            # One deviation for all recommendations at this infoset, which is compared with
            # following.
            deviated_before = _best(game, player, payoff_matrix[parent])[actions].max()
            followed[parent] += max(followed[actions].sum(), deviated_before)
    return float(followed[0])


_DEVIATE: Mapping[str, Callable[[FlatGame, int, np.ndarray], float]] = {
    "cce": _coarse,
    "efcce": partial(_extensive, seen=False),
    "efce": partial(_extensive, seen=True),
}
"""Function that computes the expected value of the best deviation, by kind of equilibrium; values
are in the unit of the arrays."""


def _normal_form(game: FlatGame, weights: np.ndarray, strategies: np.ndarray) -> CorrelationGap:
    """Compute the gap to ``"ce"``.

    A player who has seen their whole recommended strategy deviates against the others' strategies
    in all profiles that recommend this strategy to them.
    """
    values, deviations = [], []
    for player in range(game.n_players):
        sequences = game.form.of_player(player)
        _check_pure(game, player, strategies)
        # Profiles with the same strategy of the player look the same to them.
        groups: dict[bytes, list[int]] = {}
        for k, strategy in enumerate(strategies):
            groups.setdefault(strategy[sequences].tobytes(), []).append(k)
        matrices = [plan_payoffs(game, player, weights[g], strategies[g]) for g in groups.values()]
        values.append(game.unit * sum(float(payoff_matrix.trace()) for payoff_matrix in matrices))
        deviations.append(
            game.unit * sum(_coarse(game, player, payoff_matrix) for payoff_matrix in matrices)
        )
    return CorrelationGap("ce", tuple(values), tuple(deviations))


def _check_pure(game: FlatGame, player: int, strategies: np.ndarray) -> None:
    """Check that all recommended strategies of a player are pure."""
    sequences = game.form.of_player(player)
    mixes = ~np.isin(strategies[:, sequences], (0.0, 1.0)).all(axis=0)
    if mixes.any():
        infoset = int(game.form.owners[0][sequences][mixes].min())
        raise ValueError(
            "kind='ce' needs pure profiles, and a profile mixes at "
            f"{game.infoset_labels[infoset]!r}; kind='efce' takes mixed profiles"
        )
