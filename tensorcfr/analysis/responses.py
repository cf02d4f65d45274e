"""Responses to a model of a player, between safe and greedy; the model is a strategy, or counts.

Sources: M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007
(restricted Nash responses); M. Johanson, M. Bowling, "Data biased robust counter strategies",
AISTATS 2009 (data-biased responses).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Number, Several, Whole, checked
from .._util.extras import needs
from ..algorithms import Record
from ..evaluation.linear_program import restricted_equilibrium
from ..evaluation.metrics import evaluate_probabilities
from ..evaluation.player_models import (
    CountsByLabel,
    FullAt,
    Method,
    check_constant_sum,
    locks_of_model,
    modelled_strategy,
    sequences_of,
)
from ..kernels.evaluation import realization_plan
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled, require_flat
from ..model.layout import Layout
from ..model.locks import DATA_BIASED, RESTRICTED
from ..model.policy import Policy
from ..solvers.driver import solve
from ..solvers.solution import Solution
from ..solvers.solver_arguments import Target, to_game_unit
from .comparison import seated

SEARCH_STEPS = 8
"""Halvings of the range of weights in a search for a largest loss."""
EXACT = "lp"
"""Name of the algorithm that solves linear programs."""


@dataclass(frozen=True, eq=False)
class RobustResponses:
    """Responses to a model of a player: the more the model is trusted, the more they gain and
    risk."""

    game: CompiledGame
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
    """The responses.  The other player's strategies in them answer the response within the
    restrictions of the model.  Of a restricted response that was computed by iterations, they are
    the strategies of the free player."""
    against_model: np.ndarray
    """float64 (responses,): value of each response against the model."""
    worst: np.ndarray
    """float64 (responses,): value of each response against a best response in the real game, where
    the other player is free."""
    gaps: np.ndarray
    """float64 (responses,): exploitability of each solution in its restricted game, where best
    responses of the other player keep to the model, too; 0 for linear programs."""
    max_loss: float
    """Largest risk that was asked for; infinite if none was."""

    @property
    def gain(self) -> np.ndarray:
        """float64 (responses,): additional value of each response against the model, compared with
        the first response, which ignores the model."""
        return self.against_model - self.against_model[0]

    @property
    def risk(self) -> np.ndarray:
        """float64 (responses,): price of each response in the real game: the value of the first
        response against a best response, minus that of this response.

        The first value is the value of the game, less at most twice the first gap.
        """
        return self.worst[0] - self.worst

    @property
    def chosen(self) -> int:
        """Index of the response with the largest gain whose risk is at most :attr:`max_loss`."""
        return int(np.argmax(np.where(self.risk <= self.max_loss, self.gain, -np.inf)))

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


class _ResponseValues(NamedTuple):
    """A response, and its values."""

    policy: Policy
    against_model: float
    worst: float
    gap: float


@checked()
def robust_responses(
    game: Compiled,
    counts: CountsByLabel,
    player: Annotated[int, Whole(0, 1)],
    *,
    model: Any = None,
    method: Method = DATA_BIASED,
    weights: Annotated[Sequence[float], Several(Number(least=0, most=1))] = (0.25, 0.5, 0.75, 0.9),
    max_loss: Target | None = None,
    full_at: FullAt = 10,
    algorithm: str | Record | None = None,
    **options: Any,
) -> RobustResponses:
    """Compute responses to a player of whom there is a model, and their gain and risk.

    A *restricted* Nash response is an equilibrium strategy of a modified game: a coin toss before
    the game decides whether the other player must play the model, with probability ``w``, or is
    free. For a *data-biased* response a coin is tossed at each infoset. The model is played with
    probability ``w`` times the confidence in its data, ``min(1, count / full_at)``, so the player
    is free where nothing was counted. With weight 0 both are an equilibrium; with weight 1 and full
    confidence, a best response to the model.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.analysis import robust_responses
    >>> game = compile_game("kuhn")
    >>> found = robust_responses(game, {"Jb": {"bet": 9, "pass": 3}}, player=0)  # Calls with a J.
    >>> bool(found.gain[-1] > 0.01), bool(found.risk[-1] < 0.1)
    (True, True)

    Args:
        game: A two-player game of constant sum.
        counts: Number of times that the other player took each action, by infoset label and action
            label; see :meth:`Plays.counts <tensorcfr.analysis.Plays.counts>`.  None if ``model`` is
            all that is known; it then has full confidence where it names probabilities.
        player: The player who responds.
        model: The model at infosets without counts, as for :func:`model_locks`: a solution, a
            policy, probabilities by label, or None for uniform strategies.
        method: ``"data-biased"`` or ``"restricted"``.
        weights: Degrees of trust in the model, from 0 to 1, in any order; 0 is added.
        max_loss: Largest risk of the chosen response; weights are searched for it.  See
            :attr:`RobustResponses.risk` and :attr:`RobustResponses.chosen`.  It is a number in the
            game's own unit, or a text such as ``"1%"`` of the pot.  The search halves the range
            between the weights above and below 8 times, and its responses are returned, too.
        full_at: Count of an infoset from which the confidence in it is full.
        algorithm: Algorithm that solves the modified games.  By default linear programs in flat
            games (``"lp"``), and the default algorithm of :func:`tensorcfr.solve` in chunks.
        options: Stop rules and other options of :func:`tensorcfr.solve` for an algorithm that
            iterates: ``target``, ``iters``, ``threads``, ...  Each solve begins with the regrets of
            the nearest weight.

    Raises:
        ValueError: Some counts are not for the other player, or are for an unknown infoset or
            action; names it. Or the game does not have two players and constant sum.
        MemoryLimitError: A linear program would not fit.
        MissingExtraError: scipy is not installed; names the extra to install.
    """
    check_constant_sum(game)
    opponent = 1 - player
    strategy, confidence = modelled_strategy(game, model, opponent, counts, full_at)
    if algorithm is None and game.layout != Layout.CHUNKS and not options:
        algorithm = EXACT
    confidence = np.where(sequences_of(game.chunks, opponent), confidence, 0.0)
    arguments = game, opponent, strategy, confidence, method
    respond: Callable[[float], tuple[Policy, float]]
    if algorithm == EXACT and options:
        raise ValueError(f"algorithm 'lp' is exact: it takes no {', '.join(sorted(options))}")
    if algorithm == EXACT:
        respond = _by_linear_programs(*arguments)
    else:
        respond = _by_iterations(*arguments, algorithm, options)
    played = Policy(game, strategy)
    by_weight: dict[float, _ResponseValues] = {}

    def add(weight: float) -> None:
        policy, gap = respond(weight)
        sides = (policy, played) if player == 0 else (played, policy)
        values = evaluate_probabilities(game, seated(sides).probabilities)
        worst = sum(game.utility_sums) / 2 - values.best_responses[opponent]
        by_weight[weight] = _ResponseValues(policy, values.values[player], worst, gap)

    for weight in sorted({0.0, *map(float, weights)}):
        add(weight)
    limit = to_game_unit("max_loss", max_loss, game)
    if limit is not None:
        _search(by_weight, add, limit)
    used = sorted(by_weight)
    policies, against, worst, gaps = zip(*(by_weight[weight] for weight in used), strict=True)
    return RobustResponses(
        game=game,
        player=player,
        model=played,
        method=method,
        weights=np.array(used),
        policies=policies,
        against_model=np.array(against),
        worst=np.array(worst),
        gaps=np.array(gaps),
        max_loss=np.inf if limit is None else limit,
    )


def _search(
    by_weight: dict[float, _ResponseValues], add: Callable[[float], None], max_loss: float
) -> None:
    """Add the responses of a search for the largest weight that risks at most ``max_loss``."""

    def is_safe(weight: float) -> bool:
        return by_weight[0.0].worst - by_weight[weight].worst <= max_loss

    if all(map(is_safe, by_weight)) and 1.0 not in by_weight:
        add(1.0)
    for _ in range(SEARCH_STEPS):
        above = min((weight for weight in by_weight if not is_safe(weight)), default=None)
        if above is None:
            return
        add((above + max(weight for weight in by_weight if weight < above)) / 2)


def _by_iterations(
    game: CompiledGame,
    opponent: int,
    strategy: np.ndarray,
    confidence: np.ndarray,
    method: str,
    algorithm: str | Record | None,
    options: dict[str, Any],
) -> Callable[[float], tuple[Policy, float]]:
    """Return a function from a weight to a response and its gap, by an algorithm that iterates."""
    solved: dict[float, Solution] = {}
    model = np.where(sequences_of(game.chunks, opponent), strategy, 0.0)

    def respond(weight: float) -> tuple[Policy, float]:
        if method == RESTRICTED:
            locks = locks_of_model(game, model, opponent, RESTRICTED, weight)
        else:
            locks = locks_of_model(game, weight * confidence * model, opponent, DATA_BIASED, 0.0)
        # The regrets of the nearest weight are close to those of this one.
        nearest = min(solved, key=lambda known: abs(known - weight), default=None)
        start = None if nearest is None else solved[nearest]
        solution = solve(game, algorithm, locks=locks, warm_start=start, **options)
        solved[weight] = solution
        return solution.policy, solution.exploitability

    return respond


def _by_linear_programs(
    game: CompiledGame,
    opponent: int,
    strategy: np.ndarray,
    confidence: np.ndarray,
    method: str,
) -> Callable[[float], tuple[Policy, float]]:
    """Return a function from a weight to a response and its gap, by linear programs."""
    flat = require_flat(game, "a response by a linear program")

    def respond(weight: float) -> tuple[Policy, float]:
        if method == RESTRICTED:
            reaches = _mix_with_model(flat, opponent, strategy, weight)
        else:
            reaches = _keep_least_probabilities(flat, opponent, weight * confidence * strategy)
        return restricted_equilibrium(flat, opponent, reaches), 0.0

    return respond


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
