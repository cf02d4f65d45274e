"""Responses to a model of a player, between safe and greedy; the model is counts of their actions.

Sources: M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007
(restricted Nash responses); M. Johanson, M. Bowling, "Data biased robust counter strategies",
AISTATS 2009 (data-biased responses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Number, OneOf, Several, Whole, brief, checked
from .._util.extras import needs
from ..evaluation.linear_program import restricted_equilibrium
from ..evaluation.metrics import PolicyLike, evaluate_probabilities
from ..formats.policies import find_policy
from ..kernels.evaluation import realization_plan
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.infoset import refuse_unknown
from ..model.policy import Policy, suggest_label
from .comparison import seated

DATA_BIASED, RESTRICTED = "data-biased", "restricted"
COUNT = Number(least=0, finite=True)
COUNTS = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class RobustResponses:
    """Responses to a model of a player: the more the model is trusted, the more they gain and
    risk."""

    game: FlatGame
    """The game."""
    player: int
    """Player who responds."""
    model: Policy
    """Model of the other player; the responding player's strategies in it are ignored."""
    method: str
    """``"data-biased"`` or ``"restricted"``."""
    weights: np.ndarray
    """float64 (responses,): trust in the model, ascending from 0."""
    policies: tuple[Policy, ...]
    """The responses; the other player's strategies in them are the worst that the model allows."""
    against_model: np.ndarray
    """float64 (responses,): value of each response against the model."""
    worst: np.ndarray
    """float64 (responses,): value of each response against a best response."""

    @property
    def gain(self) -> np.ndarray:
        """float64 (responses,): additional value of each response against the model, compared with
        the first response, which ignores the model."""
        return self.against_model - self.against_model[0]

    @property
    def risk(self) -> np.ndarray:
        """float64 (responses,): value of the game minus the value of each response against a best
        response."""
        return self.worst[0] - self.worst

    def __str__(self) -> str:
        lines = [
            f"{self.game.name}: {self.method} responses of player {self.player}",
            f"  {'weight':>6}  {'against the model':>17}  "
            f"{'worst':>10}  {'gain':>10}  {'risk':>10}",
        ]
        columns = self.weights, self.against_model, self.worst, self.gain, self.risk
        lines += [
            f"  {weight:6.3g}  {model:+17.6f}  {worst:+10.6f}  {gain:+10.6f}  {risk:+10.6f}"
            for weight, model, worst, gain, risk in zip(*(c + 0.0 for c in columns), strict=True)
        ]
        return "\n".join(lines)


@checked()
def robust_responses(
    game: Flat,
    counts: Annotated[COUNTS, Kind((Mapping,), "counts by infoset label and action label")],
    player: Annotated[int, Whole(0, 1)],
    *,
    method: Annotated[str, OneOf((DATA_BIASED, RESTRICTED))] = DATA_BIASED,
    weights: Annotated[Sequence[float], Several(Number(least=0, most=1))] = (0.25, 0.5, 0.75, 0.9),
    full_at: Annotated[float, Number(above=0)] = 10,
    default: PolicyLike | None = None,
) -> RobustResponses:
    """Compute responses to a player whose actions were counted, by linear programs.

    A *restricted* Nash response is an equilibrium strategy of a modified game: a coin toss before
    the game decides whether the other player must play the model, with probability ``w``, or is
    free. For a *data-biased* response a coin is tossed at each infoset. The model is played with
    probability ``w`` times the confidence in its data, ``min(1, count / full_at)``, so the player
    is free where nothing was counted. With weight 0 both are an equilibrium; with weight 1 and
    enough counts, a best response to the model.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.analysis import robust_responses
    >>> game = compile_game("kuhn")
    >>> found = robust_responses(game, {"Jb": {"bet": 9, "pass": 3}}, player=0)  # Calls with a J.
    >>> bool(found.gain[-1] > 0.01), bool(found.risk[-1] < 0.1)
    (True, True)

    Args:
        game: A two-player game of constant sum.
        counts: Number of times that the other player took each action, by infoset label and action
            label; see :meth:`Plays.counts <tensorcfr.analysis.Plays.counts>`.
        player: The player who responds.
        method: ``"data-biased"`` or ``"restricted"``.
        weights: Degrees of trust in the model, from 0 to 1, in any order; 0 is added.
        full_at: Count of an infoset from which the confidence in it is full.
        default: Policy of the model at infosets without counts; by default uniform.

    Raises:
        ValueError: Some counts are not for the other player, or are for an unknown infoset or
            action; names it. Or the game does not have two players and constant sum.
        MemoryLimitError: A linear program would not fit.
        MissingExtraError: scipy is not installed; names the extra to install.
    """
    opponent = 1 - player
    start = Policy.uniform(game) if default is None else find_policy(game, default, "default")
    model = np.array(start.probabilities)
    counted = _counted(game, counts, opponent, model)
    confidence = np.minimum(1.0, counted / float(full_at))
    played, rows = Policy(game, model), []
    for weight in sorted({0.0, *map(float, weights)}):
        if method == RESTRICTED:
            reaches = _mix_with_model(game, opponent, model, weight)
        else:
            reaches = _keep_least_probabilities(game, opponent, weight * confidence * model)
        response = restricted_equilibrium(game, opponent, reaches)
        pair = [response, played] if player == 0 else [played, response]
        model_value = evaluate_probabilities(game, seated(pair).probabilities).values[player]
        best = evaluate_probabilities(game, response.probabilities).best_responses[opponent]
        rows.append((weight, response, model_value, sum(game.utility_sums) / 2 - best))
    used, policies, against, worst = zip(*rows, strict=True)
    columns = np.array(used), tuple(policies), np.array(against), np.array(worst)
    return RobustResponses(game, player, played, method, *columns)


def _counted(game: FlatGame, counts: COUNTS, player: int, model: np.ndarray) -> np.ndarray:
    """Return the count of each infoset at its sequences, and write the frequencies into the model.

    Args:
        game: The game.
        counts: The counts.
        player: The player who was counted.
        model: float64 (sequences,): the model; modified in place.

    Returns:
        float64 (sequences,).
    """
    totals = np.zeros(game.n_sequences)
    for label, row in counts.items():
        try:
            infoset = game.locate(label)
        except KeyError:
            raise ValueError(
                f"{game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
            ) from None
        if infoset.player != player:
            raise ValueError(f"counts: player {infoset.player} acts at {label!r}, not {player}")
        if not isinstance(row, Mapping):
            raise TypeError(f"counts of {label!r} must map actions to counts, not {brief(row)}")
        refuse_unknown(label, row, infoset.actions)
        action_counts = np.array(
            [
                COUNT(f"counts: {action!r} at {label!r}", row.get(action, 0))
                for action in infoset.actions
            ],
            dtype=np.float64,
        )
        if (total := float(action_counts.sum())) > 0:
            totals[infoset.numbers], model[infoset.numbers] = total, action_counts / total
    return totals


def _mix_with_model(game: FlatGame, player: int, model: np.ndarray, weight: float) -> Any:
    """Return the map from a free plan to own reaches if a model is played with a probability.

    Returns:
        A scipy.sparse array, (sequences of the player, sequences of the player).
    """
    sparse = needs("scipy.sparse", "lp")
    reach = np.empty(game.n_sequences)
    realization_plan(game.form, model, reach)
    own_reach = reach[game.form.of_player(player)]
    size, empty = len(own_reach), np.zeros(len(own_reach), dtype=np.int64)
    fixed = sparse.coo_array((weight * own_reach, (np.arange(size), empty)), shape=(size, size))
    return sparse.csc_array((1.0 - weight) * sparse.eye_array(size) + fixed)


def _keep_least_probabilities(game: FlatGame, player: int, least: np.ndarray) -> Any:
    """Return the map from a free plan to own reaches if each action has a least probability.

    The free plan of a sequence adds to the least probability times the reach of its parent
    sequence.

    Args:
        game: The game.
        player: The player.
        least: float64 (sequences,): the least probabilities.

    Returns:
        A scipy.sparse array, (sequences of the player, sequences of the player).
    """
    sparse = needs("scipy.sparse", "lp")
    form = game.form
    begin, end = form.player_sequences[player : player + 2].tolist()
    parent = form.infoset_parent[form.owners[0][begin + 1 : end]].astype(np.int64) - begin
    probabilities, size = least[begin + 1 : end], end - begin
    transition = sparse.coo_array((probabilities, (np.arange(1, size), parent)), shape=(size, size))
    transition = sparse.csc_array(transition)
    transition.eliminate_zeros()
    plan_map = power = sparse.csc_array(sparse.eye_array(size))
    # Sum the powers of ``transition``. The n-th power leads from a sequence to those n own actions
    # later, so the loop ends after the longest sequence.
    while (power := transition @ power).nnz:
        plan_map = plan_map + power
    return plan_map
