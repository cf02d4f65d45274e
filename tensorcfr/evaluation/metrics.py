"""Expected values, best responses, NashConv and exploitability, by one pass over the game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Whole, checked
from .._util.memory_budget import require
from ..formats.policies import find_policy
from ..kernels import evaluation as kernels
from ..kernels import links
from ..model.arrays import FREE, SequenceForm
from ..model.chunked_form import ChunkLocks, bounds_of_parts
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import CALLABLE, LOCKS, Compiled, Flat
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from ..model.team_game import TeamGame
from ..payoff import product
from .player_models import free_weights, part_locks, restricted_results
from .profile import evaluate_weights, evaluation_bytes

PolicyLike = Policy | Mapping[str, Mapping[str, float]] | Any
"""A policy, probabilities by infoset label and action label, or any other input of
:func:`tensorcfr.formats.find_policy`: a file, a table, a policy of another library, a function of
infosets, a network."""


@dataclass(frozen=True)
class Evaluation:
    """Values of strategies and of best responses to them, in the game's own unit of utility."""

    values: tuple[float, ...]
    """Expected value of each player if all play their strategies."""
    best_responses: tuple[float, ...]
    """Value of each player's best response to the others' strategies."""

    @property
    def gains(self) -> tuple[float, ...]:
        """Gain of each player's best response over their strategy; at least 0 up to rounding."""
        return tuple(b - v for b, v in zip(self.best_responses, self.values, strict=True))

    @property
    def nash_conv(self) -> float:
        """Sum of the gains over players."""
        return sum(self.gains)

    @property
    def exploitability(self) -> float:
        """``nash_conv`` divided by the number of players."""
        return self.nash_conv / len(self.values)


def meaning_of_exploitability(game: CompiledGame) -> str | None:
    """Return a note on exploitability in games of three players or a general sum.

    It is None in two-player zero-sum games, where exploitability bounds the loss of a strategy.
    """
    if game.n_contestants == 2 and game.zero_sum:
        if game.n_players == 2:
            return None
        return (
            f"Only two of the {game.n_players} players act.  Exploitability is the mean gain over "
            f"all players: 2/{game.n_players} of the mean over the two."
        )
    kind = "general-sum" if not game.zero_sum else f"{game.n_players}-player"
    return (
        f"In a {kind} game exploitability is the mean gain of a player who alone changes "
        "strategy; at 0 the strategies are a Nash equilibrium.  It does not bound the loss "
        "of a strategy when several others change theirs, equilibria may have different "
        "values, and these algorithms need not converge to one."
    )


@dataclass(frozen=True)
class BestResponse:
    """A player's best response to the others' strategies."""

    value: float
    """Expected value of the best response."""
    policy: Policy
    """The others' strategies, with the player's own replaced by a pure best response."""


@checked()
def evaluate(
    game: Compiled,
    policy: PolicyLike,
    *,
    locks: Annotated[LocksLike | None, LOCKS] = None,
    progress: Annotated[Callable[[int, int], object] | None, CALLABLE] = None,
) -> Evaluation:
    """Compute expected values and best-response values of a policy; takes about one iteration.

    A game in chunks needs one pass.  If the policy is a function, it is called for the strategies
    of a chunk when the pass reaches it.  They are dropped afterwards, so that they need not fit
    into memory.

    Args:
        game: The game.
        policy: The strategies, in any form that :func:`tensorcfr.formats.find_policy` reads.  Among
            them are a function from an infoset to probabilities, a function of a line and a board
            as a :class:`tensorcfr.formats.ByLine`, and a network as a
            :class:`tensorcfr.formats.Batched` function.
        locks: Probabilities that nobody chooses, by infoset label and action label.  Best responses
            play them.  The policy plays them, too; its other actions there share the rest in
            proportion.  See :class:`tensorcfr.model.locks.Locks`.
        progress: Called with the number of chunks done and the number of all chunks.

    Raises:
        ValueError: The policy or a lock does not fit this game; names the infoset.
        MemoryLimitError: There is not enough free memory.
    """
    profile = find_policy(game, policy)
    require(evaluation_bytes(game.chunks), f"evaluating a policy of {game.name}")
    locked = part_locks(game, game.chunks, locks_for(game, locks))
    if game.chunks.n_chunks:
        parts = free_weights(game.chunks, profile.parts, locked)
        results = evaluate_weights(game.chunks, parts, locked, progress)
        return _in_unit(game, *restricted_results(game, locked, *results))
    return evaluate_probabilities(game, _with_locks(game, profile, locked), locked)


def evaluate_probabilities(
    game: CompiledGame | TeamGame, probabilities: np.ndarray, locks: ChunkLocks | None = None
) -> Evaluation:
    """Evaluate behaviour probabilities, float64 (numbers,), as :func:`evaluate` does."""
    if game.links is not None:
        return _evaluate_linked(game, probabilities)
    if game.chunks.n_chunks:
        bounds = bounds_of_parts(game.chunks)
        parts = lambda first, last: probabilities[bounds[first] : bounds[last]]  # noqa: E731
        results = evaluate_weights(game.chunks, free_weights(game.chunks, parts, locks), locks)
    else:
        results = evaluate_strategies(game.chunks.trunk, probabilities, locks)[:2]
    return _in_unit(game, *restricted_results(game, locks, *results))


def _in_unit(game: CompiledGame, values: np.ndarray, best: np.ndarray) -> Evaluation:
    """Convert values from the unit of the arrays to the game's own unit."""
    return Evaluation(tuple((values * game.unit).tolist()), tuple((best * game.unit).tolist()))


def evaluate_strategies(
    form: SequenceForm, probabilities: np.ndarray, locks: ChunkLocks | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the values of strategies and of best responses, in the unit of the arrays.

    Args:
        form: The game.
        probabilities: float64 (sequences,): behaviour strategies, which play the locks already.
        locks: Locked infosets, which best responses play, too; or None.

    Returns:
        Expected values, float64 (players,); values of best responses, float64 (players,); and the
        counterfactual value of each sequence if its player continues with a best response, float64
        (sequences,).
    """
    reach, value = np.empty(form.n_sequences), np.empty(form.n_sequences)
    expected, best = np.empty(form.n_players), np.empty(form.n_players)
    kernels.realization_plan(form, probabilities, reach)
    kernels.evaluate_flat(form, reach, value, expected, best, locks)
    return expected, best, value


def _evaluate_linked(game: TeamGame, probabilities: np.ndarray) -> Evaluation:
    """Evaluate strategies of a game in which several sequences lead to an infoset."""
    form, strategy = game.form.bare, probabilities.copy()
    reach, values, best = np.empty(game.n_sequences), [], []
    links.linked_forward(form, game.links, strategy, reach)
    for side in range(game.n_players):
        sequences = form.of_player(side)
        value = np.zeros(game.n_sequences)
        value[sequences] = product(game.form, side, reach)
        values.append(game.unit * float(reach[sequences] @ value[sequences]))
        links.linked_backward(form, game.links, side, strategy, value, True)
        best.append(game.unit * float(value[sequences.start]))
    return Evaluation(tuple(values), tuple(best))


def expected_values(
    game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None
) -> tuple[float, ...]:
    """Compute the expected value of each player if all play the policy."""
    return evaluate(game, policy, locks=locks).values


def nash_conv(game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None) -> float:
    """Compute the sum over players of best-response value minus expected value."""
    return evaluate(game, policy, locks=locks).nash_conv


def exploitability(
    game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None
) -> float:
    """Compute :func:`nash_conv` divided by the number of players."""
    return evaluate(game, policy, locks=locks).exploitability


@checked()
def best_response(
    game: Flat,
    policy: PolicyLike,
    player: Annotated[int, Whole(0)],
    *,
    locks: Annotated[LocksLike | None, LOCKS] = None,
) -> BestResponse:
    """Compute a pure best response of one player to the others' strategies.

    If several actions are best, the first of them is taken.  At infosets that the others or chance
    never reach, all values are 0, so that the first action is taken.  With ``locks``, as in
    :func:`evaluate`, locked probabilities stay, and the best free action gets the rest.

    Raises:
        ValueError: There is no such player, or the policy does not fit this game.
    """
    if player >= game.n_players:
        raise ValueError(
            f"player must be a player of {game.name}, 0 to {game.n_players - 1}, not {player}"
        )
    game_locks = locks_for(game, locks)
    locked = part_locks(game, game.chunks, game_locks)
    strategy = _with_locks(game, find_policy(game, policy), locked)
    _, best, value = evaluate_strategies(game.form, strategy, locked)
    _respond(game, player, value, strategy, game_locks.probabilities())
    if locked is not None:
        kernels.impose(game.form, locked, strategy)
    return BestResponse(float(best[player]) * game.unit, Policy(game, strategy))


def _respond(
    game: FlatGame, player: int, value: np.ndarray, strategy: np.ndarray, locked: np.ndarray
) -> None:
    """Set a player's strategy, in place, to the first of the best free actions."""
    free = np.where(locked == FREE, value, -np.inf)
    for bucket in game.form.buckets_of(player):
        best = bucket.table(free).argmax(axis=0)
        bucket.table(strategy)[:] = best == np.arange(bucket.actions)[:, None]


def _with_locks(game: CompiledGame, policy: Policy, locks: ChunkLocks | None) -> np.ndarray:
    """Copy a policy's probabilities, with the locks imposed on the copy."""
    strategy = policy.probabilities.copy()
    if locks is None:
        return strategy
    if locks.least.size:
        form = game.chunks
        weight = free_weights(form, lambda first, last: strategy, locks)(0, 1)
        kernels.match_weights(form.trunk, weight, 0.0, strategy, locks)
    kernels.impose(game.chunks.trunk, locks, strategy)
    return strategy
