"""Responses to a player who is known by counts of their actions, between safe and greedy.

Sources: M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007
(restricted Nash responses); M. Johanson, M. Bowling, "Data biased robust counter strategies",
AISTATS 2009 (data-biased responses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Kind, Number, OneOf, Several, Whole, brief, checked
from .._util.extras import needs
from ..evaluation.linear_program import restricted_equilibrium
from ..evaluation.metrics import PolicyLike, evaluate_probabilities
from ..formats.policies import find_policy
from ..kernels.evaluation import realization_plan
from ..model.arguments import Flat
from ..model.flat_game import FlatGame
from ..model.infoset import refuse_unknown
from ..model.policy import Policy, suggest_label
from .comparison import seated

DATA_BIASED, RESTRICTED = "data-biased", "restricted"
COUNT = Number(least=0, finite=True)
COUNTS = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class RobustResponses:
    """Responses to a model of a player: the more it is trusted, the more they gain and risk."""

    game: FlatGame
    """The game."""
    player: int
    """Who responds."""
    model: Policy
    """What the other player is believed to play; the responding player's strategies in it are of no
    meaning."""
    method: str
    """``"data-biased"`` or ``"restricted"``."""
    weights: np.ndarray
    """float64 (responses,): how much the model is trusted, ascending from 0."""
    policies: tuple[Policy, ...]
    """The responses; the other player's strategies are the worst that the model allows."""
    against_model: np.ndarray
    """float64 (responses,): what each response earns against the model."""
    worst: np.ndarray
    """float64 (responses,): what it earns against a best response."""

    @property
    def gain(self) -> np.ndarray:
        """float64 (responses,): what each response earns more against the model than the first,
        which trusts no model."""
        return self.against_model - self.against_model[0]

    @property
    def risk(self) -> np.ndarray:
        """float64 (responses,): what it may lose, against a best response, of the value of the
        game."""
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
    """Responses to a player of whom it was counted what they did, by linear programs.

    A *restricted* Nash response is an equilibrium strategy of the game in which the other player
    must play the model with probability ``w``, and is free otherwise: a coin is tossed once, before
    the game.  For a *data-biased* response a coin is tossed at each infoset, and the model is
    played with ``w`` times the confidence in its data, ``min(1, count / full_at)``: where nothing
    was counted, the player is free.  With weight 0 both are an equilibrium, with 1 and enough
    counts a best response to the model.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.analysis import robust_responses
    >>> game = compile_game("kuhn")
    >>> found = robust_responses(game, {"Jb": {"bet": 9, "pass": 3}}, player=0)  # Calls with a J.
    >>> bool(found.gain[-1] > 0.01), bool(found.risk[-1] < 0.1)
    (True, True)

    Args:
        game: A game of two players and constant sum.
        counts: How often the other player took each action, by infoset label and action label; see
            :meth:`Plays.counts <tensorcfr.analysis.Plays.counts>`.
        player: Who responds.
        method: ``"data-biased"`` or ``"restricted"``.
        weights: How much the model is trusted, from 0 to 1, in any order; 0 is added.
        full_at: Counts of an infoset from which the confidence in them is full.
        default: What the model plays where nothing was counted, by default every action equally
            likely.

    Raises:
        ValueError: The counts are not those of the other player, or of no infoset or action; names
            it.  Or the game is not of two players and constant sum.
        MemoryLimitError: A linear program would not fit.
        MissingExtraError: scipy is not installed; says what installs it.
    """
    other = 1 - player
    start = Policy.uniform(game) if default is None else find_policy(game, default, "default")
    model = np.array(start.probabilities)
    counted = _counted(game, counts, other, model)
    confidence = np.minimum(1.0, counted / float(full_at))
    played, rows = Policy(game, model), []
    for weight in sorted({0.0, *map(float, weights)}):
        if method == RESTRICTED:
            reaches = _mixed(game, other, model, weight)
        else:
            reaches = _held(game, other, weight * confidence * model)
        found = restricted_equilibrium(game, other, reaches)
        pair = [found, played] if player == 0 else [played, found]
        earned = evaluate_probabilities(game, seated(pair).probabilities).values[player]
        best = evaluate_probabilities(game, found.probabilities).best_responses[other]
        rows.append((weight, found, earned, sum(game.utility_sums) / 2 - best))
    used, policies, against, worst = zip(*rows, strict=True)
    columns = np.array(used), tuple(policies), np.array(against), np.array(worst)
    return RobustResponses(game, player, played, method, *columns)


def _counted(game: FlatGame, counts: COUNTS, player: int, model: np.ndarray) -> np.ndarray:
    """How often each infoset was counted, float64 (sequences,); the frequencies of its actions go
    into ``model``, float64 (sequences,), in place."""
    found = np.zeros(game.n_sequences)
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
            raise TypeError(f"counts: those of {label!r} say action: count, not {brief(row)}")
        refuse_unknown(label, row, infoset.actions)
        times = np.array(
            [
                COUNT(f"counts: {action!r} at {label!r}", row.get(action, 0))
                for action in infoset.actions
            ],
            dtype=np.float64,
        )
        if (total := float(times.sum())) > 0:
            found[infoset.numbers], model[infoset.numbers] = total, times / total
    return found


def _mixed(game: FlatGame, player: int, model: np.ndarray, weight: float) -> Any:
    """Own reaches of a player who plays a model with a probability, from those of a free plan; a
    scipy.sparse array, sequences x sequences of the player."""
    sparse = needs("scipy.sparse", "lp")
    reach = np.empty(game.n_sequences)
    realization_plan(game.form, model, reach)
    own = reach[game.form.of_player(player)]
    size, empty = len(own), np.zeros(len(own), dtype=np.int64)
    fixed = sparse.coo_array((weight * own, (np.arange(size), empty)), shape=(size, size))
    return sparse.csc_array((1.0 - weight) * sparse.eye_array(size) + fixed)


def _held(game: FlatGame, player: int, least: np.ndarray) -> Any:
    """The same of a player who gives each action of an infoset at least a probability, float64
    (sequences,): what is free of the reach is added to that share of the reach before."""
    sparse = needs("scipy.sparse", "lp")
    form = game.form
    begin, end = form.player_sequences[player : player + 2].tolist()
    parent = form.infoset_parent[form.owners[0][begin + 1 : end]].astype(np.int64) - begin
    own, size = least[begin + 1 : end], end - begin
    passed = sparse.coo_array((own, (np.arange(1, size), parent)), shape=(size, size))
    passed = sparse.csc_array(passed)
    passed.eliminate_zeros()
    found = added = sparse.csc_array(sparse.eye_array(size))
    # As often as the player acts in a row.
    while (added := passed @ added).nnz:
        found = found + added
    return found
