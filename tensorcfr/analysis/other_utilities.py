"""Strategies of a solution in a game with the same infosets and other utilities.

:func:`incentive_prices` solves a game in which a player is paid for actions, and values the
strategies in the game without payments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Several, Text, Whole, checked
from ..compilers import compile_game
from ..errors import GameError
from ..evaluation import Evaluation, evaluate
from ..evaluation.metrics import evaluate_probabilities
from ..evaluation.player_models import locks_of_model
from ..formats.policies import find_policy
from ..games.incentives import OPTION
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.locks import Locks
from ..model.policy import Policy
from ..model.same_numbers import have_same_numbers
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .comparison import seated

SOLUTION = Kind((Solution,), "a solution")


def policy_in(game: CompiledGame, policy: Policy) -> Policy:
    """Return strategies as those of a game with the same infosets.

    Raises:
        ValueError: The infosets differ; names both games.
    """
    if not have_same_numbers(game, policy.game):
        raise ValueError(
            f"{policy.game.name} and {game.name} differ in more than utilities: their strategies "
            "cannot be compared"
        )
    return Policy(game, np.array(policy.probabilities))


def _locks_in(game: CompiledGame, locks: Locks) -> Locks:
    """Return locks as those of a game with the same infosets, to which a model must apply."""
    if locks.model is None:
        return Locks(game, locks)
    model = locks.model
    return locks_of_model(game, model.numbers, model.player, model.method, model.weight)


@checked()
def restate(solution: Annotated[Solution, SOLUTION], game: Compiled) -> Solution:
    """Return the strategies of a solution as a solution of a game with other utilities.

    Chips and prizes of a tournament, or different rakes, are utilities of games with the same
    infosets. The result has the values and the best responses of the other game. It has no trace
    and no solver arrays, whose numbers are in the unit of the first game.

    Args:
        solution: A solution.
        game: A game with the same infosets and actions.

    Raises:
        ValueError: The infosets or actions differ; names both games.  Or the solution responds to
            a model, and the utilities of ``game`` do not have a constant sum.
    """
    if solution.game.digest == game.digest:
        return solution
    policy = policy_in(game, solution.policy)
    locks = None if solution.locks is None else _locks_in(game, solution.locks)
    return replace(
        solution,
        game=game,
        policy=policy,
        evaluation=evaluate(game, policy, locks=locks),
        locks=locks,
        trace=(),
        state=None,
        best=None,
        exact=None,
        evaluation_is_checked=True,
    )


class IncentivePrice(NamedTuple):
    """Equilibrium of a game in which a player is paid for actions, and its price in the game
    without payments.  Amounts are in the unit of the game."""

    incentives: tuple[str, ...]
    """The incentives."""
    solution: Solution
    """Solution of the game with the payments."""
    policy: Policy
    """Strategies of this solution, as those of the game without payments."""
    paid: float
    """Expected payments in one play of the solution."""
    paid_before: float
    """Expected payments if both players follow the solution of the game without payments."""
    against_solution: float
    """Loss of value against the other player's strategy in the solution without payments."""
    against_best: float
    """Loss of value if the other player knows the strategy and responds best."""


def price_of(
    game: CompiledGame, base: Evaluation, policy: Policy, player: int
) -> tuple[float, float]:
    """Return the loss of a player who leaves a solution, against its other player and against a
    best response.

    Args:
        game: The game, of two players.
        base: Evaluation of the solution.
        policy: The changed strategies of the player; the other player's are those of the solution.
        player: The player.
    """
    changed = evaluate_probabilities(game, policy.probabilities)
    lost = base.values[player] - changed.values[player]
    # The other player's gain is this player's loss.
    best = changed.best_responses[1 - player] - base.best_responses[1 - player]
    return float(lost), float(best)


@checked()
def incentive_prices(
    solution: Annotated[Solution, SOLUTION],
    player: Annotated[int, Whole(0, 1)],
    incentives: Annotated[Sequence[str], Several(Text(300), alone=True)],
    **options: Any,
) -> list[IncentivePrice]:
    """Solve a game in which a player is paid for actions, and compute the price in the game without
    payments.

    >>> from tensorcfr import compile_game, solve
    >>> from tensorcfr.analysis import incentive_prices
    >>> solution = solve(compile_game("leduc"), target=0.001)
    >>> (price,) = incentive_prices(solution, 1, "call +0.2", target=0.001)
    >>> price.paid > price.paid_before, price.against_best > price.against_solution > 0
    (True, True)

    Args:
        solution: A solution of a spot, or of a built-in game of two players.
        player: The player who is paid.
        incentives: Incentives of :func:`tensorcfr.games.with_incentives`, without the player:
            ``"call +2"``, ``"river bet -5 after check"``.
        options: Stop rules and other options of :func:`tensorcfr.solve` for the game with payments.
            This game has no constant sum, so no algorithm is known to reach every target.

    Returns:
        The price of each incentive, and with several incentives of all together, which come last.

    Raises:
        ValueError: A text is not an incentive, the game has no such action, or it does not have two
            players; names it.  Or the game is not known by name and is not a spot.
    """
    game, policy = solution.game, find_policy(solution.game, solution)
    if game.n_players != 2:
        raise ValueError(
            f"incentive_prices needs two players, and {game.name} has {game.n_players}"
        )
    base = evaluate_probabilities(game, policy.probabilities)
    prices = []
    groups = [(text,) for text in incentives] + ([tuple(incentives)] if len(incentives) > 1 else [])
    for group in groups:
        paying = _with_payments(game, tuple(f"{player} {text}" for text in group))
        paid = solve(paying, **options)
        leaning = policy_in(game, paid.policy)
        before = evaluate_probabilities(paying, policy.probabilities).values[player]
        unpaid = evaluate_probabilities(game, leaning.probabilities).values[player]
        changed = seated((leaning, policy) if player == 0 else (policy, leaning))
        prices.append(
            IncentivePrice(
                group,
                paid,
                leaning,
                float(paid.value[player] - unpaid),
                float(before - base.values[player]),
                *price_of(game, base, changed, player),
            )
        )
    return prices


def _with_payments(game: CompiledGame, incentives: tuple[str, ...]) -> CompiledGame:
    """Compile a game again, with incentives.

    Raises:
        ValueError: The game cannot be compiled again, or an incentive is wrong.
    """
    payments: dict[str, Any] = {OPTION: incentives}
    cut = False if game.recipe is None else game.recipe.cut
    try:
        return compile_game(game.name, cut=cut, **payments)
    except (GameError, TypeError) as error:
        if OPTION in str(error):
            raise ValueError(str(error)) from None
        if game.recompile is not None:
            return game.with_options(**payments)
        raise ValueError(
            f"incentive_prices needs a spot or the name of a built-in game, and {game.name} is "
            "neither; compile with_incentives(rules, ...) and restate its solution"
        ) from None
