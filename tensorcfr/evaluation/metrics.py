"""Expected values, best responses, NashConv and exploitability, by one sweep of the game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Whole, checked
from ..formats.policies import find_policy
from ..kernels import evaluation as kernels
from ..kernels import links
from ..kernels.locks import impose
from ..model.arguments import LOCKS, Compiled
from ..model.arrays import LockedLanes, SequenceForm
from ..model.game import CompiledGame
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from ..model.team_game import TeamGame
from ..payoff import product

PolicyLike = Policy | Mapping[str, Mapping[str, float]] | Any
"""A policy, probabilities by infoset label and action label, or whatever else
:func:`tensorcfr.formats.find_policy` reads: a file, a table, a policy of another library, a
function of infosets, a network."""


@dataclass(frozen=True)
class Evaluation:
    """What strategies are worth, in the game's own unit of utility."""

    values: tuple[float, ...]
    """Expected value of each player when all play their strategies."""
    best_responses: tuple[float, ...]
    """Value of each player's best response to the others' strategies."""

    @property
    def gains(self) -> tuple[float, ...]:
        """What each player's best response gains over their strategy; at least 0 up to
        rounding."""
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
    """A text about exploitability in games of three players or a general sum.

    None in two-player zero-sum games, where it bounds what a strategy can lose.
    """
    if game.n_players == 2 and game.zero_sum:
        return None
    kind = "general-sum" if not game.zero_sum else f"{game.n_players}-player"
    return (
        f"In a {kind} game exploitability is the mean over players of the gain of one who alone "
        "changes strategy; at 0 it is a Nash equilibrium.  It does not bound what a strategy "
        "loses when several others change theirs, equilibria may have different values, and these "
        "algorithms need not come near one."
    )


@dataclass(frozen=True)
class BestResponse:
    """A player's best response to the others' strategies."""

    value: float
    """What it earns."""
    policy: Policy
    """The others' strategies, with the player's own replaced by a pure best response."""


@checked()
def evaluate(
    game: Compiled, policy: PolicyLike, *, locks: Annotated[LocksLike | None, LOCKS] = None
) -> Evaluation:
    """Expected values and best-response values of a policy; costs about one iteration.

    Args:
        game: The game.
        policy: The strategies, in any form that :func:`tensorcfr.formats.find_policy` reads: a
            function from an infoset to probabilities among them, and a network as a
            :class:`tensorcfr.formats.Batched` function.
        locks: Probabilities that nobody chooses, by infoset label and action label: best
            responses play them, and so does the policy, whatever it says there (its other actions
            share what is left in proportion); see :class:`tensorcfr.model.locks.Locks`.

    Raises:
        ValueError: The policy or a lock is not one for this game; names the infoset.
    """
    strategy, lanes = _locked(game, policy, locks)
    return evaluate_probabilities(game, strategy, lanes)


def evaluate_probabilities(
    game: CompiledGame | TeamGame, probabilities: np.ndarray, locks: LockedLanes | None = None
) -> Evaluation:
    """As :func:`evaluate`, from float64 (sequences,) behaviour probabilities."""
    if game.links is not None:
        return _evaluate_linked(game, probabilities)
    reach, scratch = np.empty(game.n_sequences), np.empty(game.n_sequences)
    kernels.realization_plan(game.form, probabilities, reach)
    return evaluate_plan(game.form, reach, scratch, locks, unit=game.unit)


def _evaluate_linked(game: TeamGame, probabilities: np.ndarray) -> Evaluation:
    """The same where several sequences lead to an infoset."""
    form, strategy = game.form._replace(operator=()), probabilities.copy()
    reach, values, best = np.empty(game.n_sequences), [], []
    links.spread(form, game.links, strategy, reach)
    for side in range(game.n_players):
        own = slice(*form.player_sequences[side : side + 2].tolist())
        value = np.zeros(game.n_sequences)
        value[own] = product(game.form, side, reach)
        values.append(game.unit * float(reach[own] @ value[own]))
        links.collect(form, game.links, side, strategy, value, True)
        best.append(game.unit * float(value[own.start]))
    return Evaluation(tuple(values), tuple(best))


def evaluate_plan(
    form: SequenceForm,
    reach: np.ndarray,
    scratch: np.ndarray,
    locks: LockedLanes | None = None,
    *,
    unit: float = 1.0,
) -> Evaluation:
    """As :func:`evaluate`, from own reaches.

    Args:
        form: The game, or what stands for it.
        reach: float (sequences,): own reach of every player's sequences.
        scratch: float (sequences,): modified.
        locks: Locked infosets, which the reaches play already.
        unit: That of the game.
    """
    players = form.n_players
    expected, best = np.empty(players), np.empty(players)
    kernels.evaluate(form, reach, scratch, expected, best, locks)
    return Evaluation(tuple((expected * unit).tolist()), tuple((best * unit).tolist()))


def expected_values(
    game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None
) -> tuple[float, ...]:
    """Expected value of each player when all play the policy."""
    return evaluate(game, policy, locks=locks).values


def nash_conv(game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None) -> float:
    """Sum over players of best-response value minus value."""
    return evaluate(game, policy, locks=locks).nash_conv


def exploitability(
    game: CompiledGame, policy: PolicyLike, *, locks: LocksLike | None = None
) -> float:
    """:func:`nash_conv` divided by the number of players."""
    return evaluate(game, policy, locks=locks).exploitability


@checked()
def best_response(
    game: Compiled,
    policy: PolicyLike,
    player: Annotated[int, Whole(0)],
    *,
    locks: Annotated[LocksLike | None, LOCKS] = None,
) -> BestResponse:
    """A pure best response of one player to the others' strategies.

    Where several actions are best, the first of them is taken; infosets that the others or
    chance never let happen have all values 0, so they take their first action.  With ``locks``,
    as in :func:`evaluate`, what is locked stays, and the best free action has the rest.

    Raises:
        ValueError: There is no such player, or the policy is not one for this game.
    """
    if player >= game.n_players:
        raise ValueError(
            f"player must be one of {game.name}, 0 to {game.n_players - 1}, not {player}"
        )
    strategy, lanes = _locked(game, policy, locks)
    reach, value = np.empty(game.n_sequences), np.empty(game.n_sequences)
    kernels.realization_plan(game.form, strategy, reach)
    kernels.best_response(game.form, player, reach, value, strategy, lanes)
    empty = int(game.form.player_sequences[player])
    return BestResponse(float(value[empty]) * game.unit, Policy(game, strategy))


def _locked(
    game: CompiledGame, policy: PolicyLike, locks: LocksLike | None
) -> tuple[np.ndarray, LockedLanes | None]:
    """A copy of a policy's probabilities that plays the locks, and the locks."""
    strategy, lanes = _probabilities(game, policy).copy(), locks_for(game, locks).lanes(game.form)
    if lanes is not None:
        impose(game.form, lanes, strategy)
    return strategy, lanes


def _probabilities(game: CompiledGame, policy: PolicyLike) -> np.ndarray:
    """float64 (sequences,) of a policy for this very game."""
    return np.ascontiguousarray(find_policy(game, policy).probabilities)
