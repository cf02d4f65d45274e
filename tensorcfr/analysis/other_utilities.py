"""Strategies of a solution in a game with the same infosets and other utilities.

:func:`incentive_prices` solves a game in which a player is paid for actions, and values the
strategies in the game without payments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Whole, checked
from ..compilers import compile_game
from ..evaluation import evaluate
from ..evaluation.metrics import evaluate_probabilities
from ..evaluation.player_models import locks_of_model
from ..evaluation.profile import profile_of
from ..formats.game_sources import is_built_in
from ..formats.policies import find_policy
from ..games.incentives import INCENTIVES, OPTION, Incentive
from ..model.chunked_game import have_same_numbers
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.locks import Locks
from ..model.policy import Policy
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
    """Loss of value if the other player knows the strategy and responds best, compared with a best
    response to the solution.  Of equally good responses the first one counts, action by action; it
    matters only in games without a constant sum."""


def values_of(game: CompiledGame, policy: Policy, player: int) -> tuple[float, float]:
    """Return the value of a player's strategy against the other player's, and against a best
    response of the other player.
    """
    evaluation = evaluate_probabilities(game, policy.probabilities)
    value = evaluation.values[player]
    if game.constant_sum:
        return value, sum(game.utility_sums) / 2 - evaluation.best_responses[1 - player]
    probabilities = policy.probabilities.copy()
    profile = profile_of(Policy(game, policy.probabilities))
    for rows in game.rows(1 - player):
        best = profile.at(rows.numbers).best.argmax(axis=1)
        probabilities[rows.numbers] = best[:, None] == np.arange(rows.numbers.shape[1])
    return value, evaluate_probabilities(game, probabilities).values[player]


def price_of(
    game: CompiledGame, base: tuple[float, float], policy: Policy, player: int
) -> tuple[float, float]:
    """Return the loss of a player who leaves a solution, against its other player and against a
    best response.

    Args:
        game: The game, of two players.
        base: Values of the solution; see :func:`values_of`.
        policy: The changed strategies of the player; the other player's are those of the solution.
        player: The player.
    """
    value, against_best = values_of(game, policy, player)
    return base[0] - value, base[1] - against_best


@checked()
def incentive_prices(
    solution: Annotated[Solution, SOLUTION],
    player: Annotated[int, Whole(0, 1)],
    incentives: Annotated[Sequence[str], INCENTIVES],
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
            players; names it.  Or the game has incentives already, or it can be compiled again
            neither by its name nor as a game of cards.
    """
    game, policy = solution.game, find_policy(solution.game, solution)
    if game.n_players != 2:
        raise ValueError(
            f"incentive_prices needs two players, and {game.name} has {game.n_players}"
        )
    for text in incentives:
        Incentive.check_payment(text)
    compile_again = _compile_again(game)
    base = values_of(game, policy, player)
    prices = []
    groups = [(text,) for text in incentives] + ([tuple(incentives)] if len(incentives) > 1 else [])
    for group in groups:
        paying = compile_again(**{OPTION: tuple(f"{player} {text}" for text in group)})
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
                float(before - base[0]),
                *price_of(game, base, changed, player),
            )
        )
    return prices


def _compile_again(game: CompiledGame) -> Callable[..., CompiledGame]:
    """Return a function from options to this game with these options."""
    # Games with incentives say so in their names.  Spots keep their rules.
    if game.recompile is not None and not is_built_in(game.name) and OPTION not in game.name:
        return game.with_options
    layout: dict[str, Any] = {"cut": False}
    if game.recipe is not None:
        layout = {"cut": game.recipe.cut, "symmetry": game.recipe.symmetry}
    compile_again: Callable[..., CompiledGame] = partial(compile_game, game.name, **layout)
    with suppress(TypeError, ValueError, OSError):
        # A game of one's own may have the name of a built-in game.
        if compile_again(**{OPTION: ()}).digest == game.digest:
            return compile_again
    raise ValueError(
        f"incentive_prices needs a spot or a built-in game without incentives, and {game.name} is "
        "not such a game; compile with_incentives(rules, ...) and restate its solution"
    )
