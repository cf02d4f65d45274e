"""Checks of the exercises in the notebook "CFR in twelve cells", on Kuhn poker.

A strategy, a regret or a sum is an array, float64 (infosets, actions): row ``i`` belongs to infoset
``i`` of ``game().tree``, and the columns to its actions, pass and bet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ._util.argument_checks import brief
from .algorithms import CFR, CFR_PLUS
from .analysis.diagnosis import diagnose
from .analysis.history_values import descendants, history_values
from .analysis.regret_bounds import regrets as overall_regrets
from .compilers import compile_game
from .errors import suggest
from .evaluation import evaluate
from .model.arrays import CHANCE
from .model.flat_game import FlatGame
from .model.policy import Policy
from .solvers.driver import solve
from .solvers.solver import Solver

__all__ = ["TOLERANCE", "ExerciseError", "check", "game"]

TOLERANCE = 1e-12
"""Largest difference between an answer and the library's number."""
LOOP_MARKS = (1, 2, 3, 10)
"""Iterations after which loops are compared."""


class ExerciseError(AssertionError):
    """An answer is wrong; the message names the likely mistake."""


@cache
def game() -> FlatGame:
    """Return the game of the exercises: Kuhn poker with three cards, as a flat game.

    >>> game().n_histories, game().n_infosets
    (58, 12)
    """
    kuhn = compile_game("kuhn", cut=False)
    assert isinstance(kuhn, FlatGame)
    return kuhn


class Case(NamedTuple):
    """One call of a reader's function."""

    arguments: tuple[Any, ...]
    right: np.ndarray
    """The library's answer."""
    mistakes: dict[str, Any]
    """Usual wrong answers, by the message that names the mistake."""


def check(exercise: str, answer: Callable[..., Any]) -> str:
    """Compare a reader's function with the library to :data:`TOLERANCE`.

    >>> check("regret matching", lambda regret: None)
    'regret matching: not filled in yet'

    Args:
        exercise: Name of the exercise, such as ``"reaches"``.
        answer: The function.

    Returns:
        ``"... right"``, or a remark that the function still returns None.

    Raises:
        ExerciseError: The function returns wrong numbers; names the likely mistake, or the first
            wrong number.
        ValueError: There is no such exercise.
    """
    if exercise not in CASES:
        raise ValueError(
            f"there is no exercise {brief(exercise)}; {suggest(str(exercise), list(CASES))}"
        )
    cases = list(CASES[exercise]())
    answers = [answer(*case.arguments) for case in cases]
    if any(result is None or result is Ellipsis for result in answers):
        return f"{exercise}: not filled in yet"
    arrays = [_numbers(exercise, case, result) for case, result in zip(cases, answers, strict=True)]
    right = [
        np.allclose(numbers, case.right, rtol=0, atol=TOLERANCE)
        for case, numbers in zip(cases, arrays, strict=True)
    ]
    if all(right):
        return f"{exercise}: right, {len(cases)} comparisons"
    if exercise in LOOPS:
        _name_mistake_of_loop(exercise, cases, arrays)
    first = right.index(False)
    _name_mistake(exercise, cases[first], arrays[first])
    return ""


def _numbers(exercise: str, case: Case, result: Any) -> np.ndarray:
    """Return an answer as an array; raise an error if it has another shape."""
    try:
        numbers = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError):
        raise ExerciseError(
            f"{exercise}: the answer is not an array of numbers: {brief(result)}"
        ) from None
    if numbers.shape != case.right.shape:
        raise ExerciseError(f"{exercise}: the shape is {numbers.shape}, not {case.right.shape}")
    return numbers


def _name_mistake(exercise: str, case: Case, numbers: np.ndarray) -> None:
    """Raise an error that names the mistake of an answer, or its first wrong number."""
    for message, wrong in case.mistakes.items():
        if np.allclose(numbers, wrong, rtol=0, atol=1e-9):
            raise ExerciseError(f"{exercise}: {message}")
    differs = ~(np.abs(numbers - case.right) <= TOLERANCE)
    place = tuple(int(i) for i in np.argwhere(differs)[0])
    where = f"[{', '.join(map(str, place))}]" if place else "the answer"
    if place and exercise in BY_INFOSET:
        where += f" (infoset {game().infoset_labels[place[0]]})"
    right, wrong = case.right[place], numbers[place]
    raise ExerciseError(f"{exercise}: {where} is {wrong:.12g}, not {right:.12g}")


def _name_mistake_of_loop(
    exercise: str, cases: Sequence[Case], arrays: Sequence[np.ndarray]
) -> None:
    """Raise an error that names the mistake of a whole loop, if :func:`diagnose` recognises it."""
    labels, tables = game().infoset_labels, {}
    for case, numbers in zip(cases, arrays, strict=True):
        if not (np.isfinite(numbers).all() and np.allclose(numbers.sum(axis=1), 1)):
            raise ExerciseError(f"{exercise}: the probabilities of an infoset do not sum to 1")
        tables[int(case.arguments[1])] = dict(zip(labels, numbers.tolist(), strict=True))
    result = diagnose(game(), tables, numbers_are="strategies")
    if result.mistakes:
        reasons = " ".join(f"{mistake.problem} {mistake.remedy}" for mistake in result.mistakes)
        raise ExerciseError(f"{exercise}: {reasons}")
    if result.algorithm is not None:
        raise ExerciseError(f"{exercise}: this is another algorithm: {result.algorithm}")


# ------------------------------------------------------------------------------------- the cases


def _policy(strategy: np.ndarray) -> Policy:
    """Return the policy of a strategy, float64 (infosets, actions)."""
    probabilities = np.ones(game().n_sequences)
    for infoset, row in enumerate(strategy):
        probabilities[game().sequences(infoset)] = row
    return Policy(game(), probabilities)


def _strategy(policy: Policy) -> np.ndarray:
    """Return the strategy of a policy, float64 (infosets, actions)."""
    rows = (policy.probabilities[game().sequences(i)] for i in range(game().n_infosets))
    return np.array(list(rows))


def _strategies() -> list[np.ndarray]:
    """Return a random, the uniform and a pure strategy, float64 (infosets, actions)."""
    bets = [np.random.default_rng(1).random(game().n_infosets), np.full(game().n_infosets, 0.5)]
    bets.append(np.arange(game().n_infosets) % 3 / 2)
    return [np.stack([1 - bet, bet], axis=1) for bet in bets]


def _regret_matching() -> Iterator[Case]:
    for regret in (
        [[3.0, 1.0], [2.0, -1.0]],
        [[-1.0, -3.0], [0.0, 0.0]],
        [[-2.0, 0.5], [1.0, 1.0]],
    ):
        sums = np.array(regret)
        positive = np.maximum(sums, 0.0)
        total = positive.sum(axis=1, keepdims=True)
        safe = np.where(total > 0, total, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mistakes = {
                "negative regrets have no part in it: take max(regret, 0) first.": sums
                / sums.sum(axis=1, keepdims=True),
                "negative regrets do not count: take max(regret, 0), not abs.": np.abs(sums)
                / np.abs(sums).sum(axis=1, keepdims=True),
                "without a positive regret, play uniformly.": positive / safe,
                "positive regrets are not divided by their sum.": positive,
            }
        yield Case((sums.copy(),), np.where(total > 0, positive / safe, 0.5), mistakes)


def _reaches() -> Iterator[Case]:
    for strategy in _strategies():
        right = history_values(game(), _policy(strategy)).reach
        players = right[:, :2].prod(axis=1, keepdims=True)
        shared = np.hstack([players, players, players * right[:, 2:]])
        no_chance = right.copy()
        no_chance[:, -1] = 1.0
        mistakes = {
            "an action changes the reach of the player who takes it, and no other.": shared,
            "chance has a reach, too, in the last column.": no_chance,
            "the columns are player 0, player 1 and chance.": right[:, [2, 0, 1]],
        }
        yield Case((game().tree, strategy.copy()), right, mistakes)


def _values() -> Iterator[Case]:
    tree = game().tree
    for strategy in _strategies():
        right = history_values(game(), _policy(strategy)).value
        uniform = history_values(game(), Policy.uniform(game())).value
        reach = history_values(game(), _policy(strategy)).reach.prod(axis=1, keepdims=True)
        mistakes = {
            "a player values a history by the utility to that player: the signs of the players "
            "are exchanged.": -right,
            "children are weighted by the strategy, not equally.": uniform,
            "a value is that of a play from the history on: the reach does not belong in it.": right
            * reach,
        }
        yield Case((tree, strategy.copy()), right, mistakes)


def _counterfactual_reach() -> Iterator[Case]:
    for strategy in _strategies():
        result = history_values(game(), _policy(strategy))
        reach = result.reach
        mistakes = {
            "chance is one of the others: its reach belongs in the product.": reach[:, [1, 0]],
            "the player's own reach is left out: counterfactual means that they try to get "
            "there.": np.repeat(reach.prod(axis=1, keepdims=True), 2, axis=1),
            "this is the player's own reach; take the others'.": reach[:, :2],
            "this is the player's own reach times chance; take the others'.": reach[:, :2]
            * reach[:, 2:],
        }
        yield Case((reach.copy(),), result.counterfactual_reach, mistakes)


def _regrets_by(strategy: np.ndarray, weight: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Return the regrets of an iteration with some weight of each history, by player."""
    tree, result = game().tree, history_values(game(), _policy(strategy))
    weights, total = weight(result), np.zeros((game().n_infosets, 2))
    for node in np.flatnonzero(tree.player >= 0):
        player, first = tree.player[node], tree.first_child[node]
        gain = result.value[first : first + 2, player] - result.value[node, player]
        total[tree.infoset[node]] += weights[node, player] * gain
    return total


def _regrets() -> Iterator[Case]:
    for strategy in _strategies():
        solver_regret = _regrets_by(strategy, lambda result: result.counterfactual_reach)
        if (strategy == 0.5).all():  # The first iteration of the solver plays uniformly.
            solver = Solver(game(), CFR(alternating=False))
            solver.iterate()
            sums = solver.sums_of(solver.problem, solver.state)[0]
            solver_regret = np.array([sums[game().sequences(i)] for i in range(game().n_infosets)])
        mistakes = {
            "the player's own reach does not weight a regret: take the counterfactual "
            "reach.": _regrets_by(strategy, lambda result: result.reach[:, :2]),
            "regrets are weighted by the counterfactual reach.": _regrets_by(
                strategy, lambda result: np.ones_like(result.value)
            ),
            "the reach of chance is missing.": _regrets_by(
                strategy, lambda result: result.reach[:, [1, 0]]
            ),
            "the player's own reach is in the weight.": _regrets_by(
                strategy,
                lambda result: np.repeat(result.reach.prod(axis=1, keepdims=True), 2, axis=1),
            ),
            "the sign is reversed: the value after the action minus the value before it.": (
                -solver_regret
            ),
        }
        yield Case((game().tree, strategy.copy()), solver_regret, mistakes)


def _strategy_sums() -> Iterator[Case]:
    tree = game().tree
    for strategy in _strategies():
        result = history_values(game(), _policy(strategy))
        own_reach, others, count = (np.zeros((game().n_infosets, 1)) for _ in range(3))
        for node in np.flatnonzero(tree.player >= 0):
            infoset, player = tree.infoset[node], tree.player[node]
            own_reach[infoset] = result.reach[node, player]
            others[infoset] += result.counterfactual_reach[node, player]
            count[infoset] += 1
        mistakes = {
            "the weight is the player's own reach, not the counterfactual reach.": others
            * strategy,
            "the strategy is weighted by the player's own reach.": strategy,
            "an infoset has several histories, all with the same own reach: add it once.": (
                count * own_reach * strategy
            ),
            "this is the reach alone; multiply the strategy by it.": np.repeat(
                own_reach, 2, axis=1
            ),
        }
        yield Case((tree, strategy.copy()), own_reach * strategy, mistakes)


def _loop(record: Any) -> Callable[[], Iterator[Case]]:
    def cases() -> Iterator[Case]:
        for t in LOOP_MARKS:
            yield Case((game().tree, t), _strategy(solve(game(), record, iters=t).policy), {})

    return cases


def _best_response() -> Iterator[Case]:
    tree = game().tree
    for strategy in _strategies():
        result = evaluate(game(), _policy(strategy))
        for player in range(2):
            step = history_values(game(), _policy(strategy)).value
            seeing = step.copy()
            worst = np.array([evaluate(game(), _policy(strategy)).values[player]])
            for node in reversed(range(tree.n_nodes)):
                children = slice(*tree.first_child[node : node + 2].tolist())
                below = seeing[children, player]
                if tree.player[node] == player:
                    seeing[node, player] = below.max()
                elif tree.player[node] == CHANCE:
                    seeing[node, player] = tree.probability[children] @ below
                elif tree.player[node] >= 0:
                    seeing[node, player] = strategy[tree.infoset[node]] @ below
            mistakes = {
                "the best action is chosen at each history, so the player sees the other's card: "
                "choose one action for all histories of an infoset.": seeing[0, player],
                "this is the value of the strategy; let the player take the best action.": worst[0],
                "this is the value of the other player.": -result.best_responses[player],
            }
            right = np.array(result.best_responses[player])
            yield Case((tree, strategy.copy(), player), right, mistakes)


def _sampled_regrets() -> Iterator[Case]:
    """Yield a case for each deal; the mean over deals is the regret of CFR."""
    tree = game().tree
    deals = [
        n
        for n in range(tree.n_nodes)
        if tree.player[n] >= 0 and tree.player[tree.parent[n]] == CHANCE
    ]
    strategy = _strategies()[0]
    for deal in deals:
        chance = float(history_values(game(), _policy(strategy)).reach[deal, 2])
        inside = descendants(tree, deal)[:, None]

        def regret(weight: Callable[[Any], np.ndarray], inside: np.ndarray = inside) -> np.ndarray:
            return _regrets_by(strategy, lambda result: inside * weight(result))

        right = regret(lambda result: result.counterfactual_reach) / chance
        mistakes = {
            "the deal is drawn with its probability already: do not multiply by it again.": right
            * chance,
            "all deals are in it: visit only the histories after the deal.": _regrets_by(
                strategy, lambda result: result.reach[:, [1, 0]]
            ),
            "within the deal, a regret is weighted by the other player's reach.": regret(
                lambda result: np.ones_like(result.value)
            ),
        }
        yield Case((tree, strategy.copy(), deal), right, mistakes)


def _theorem() -> Iterator[Case]:
    solver, played = Solver(game(), CFR(alternating=False)), []
    for t in range(1, 21):
        played.append(_strategy(solver.current_policy()))
        solver.iterate()
        if t in (1, 5, 20):
            (point,) = overall_regrets(game(), CFR(alternating=False), checkpoints=[t])
            left = float(sum(point.average))
            right = evaluate(game(), solver.average_policy()).nash_conv
            mean = evaluate(game(), _policy(np.mean(played, axis=0))).nash_conv
            mistakes = {
                "the regrets are sums over the iterations: divide by T.": (left * t, right),
                "the right side is the sum of both players' gains, not half of it.": (
                    left,
                    right / 2,
                ),
                "the average strategy weights each strategy by the player's own reach.": (
                    mean,
                    mean,
                ),
            }
            yield Case((game().tree, [s.copy() for s in played]), np.array([left, right]), mistakes)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "regret matching": _regret_matching,
    "reaches": _reaches,
    "values": _values,
    "counterfactual reach": _counterfactual_reach,
    "regrets": _regrets,
    "strategy sums": _strategy_sums,
    "cfr": _loop(CFR(alternating=False)),
    "players in turn": _loop(CFR(alternating=True)),
    "cfr+": _loop(CFR_PLUS),
    "best response": _best_response,
    "sampling": _sampled_regrets,
    "theorem 1": _theorem,
}
"""Calls of each exercise, in the order of the notebook."""
LOOPS = ("cfr", "players in turn", "cfr+")
BY_INFOSET = ("regrets", "strategy sums", *LOOPS, "sampling")
