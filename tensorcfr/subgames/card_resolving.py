"""Resolving in games of cards: the subgame below a line is a game of cards again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._util.arguments import brief
from ..algorithms import Record
from ..analysis.public_nodes import START
from ..compilers.card_betting import unfold
from ..formats.policies import find_policy
from ..kernels.chunks import Numbers
from ..model.card_game import CompiledCardGame
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..rules import CardGame, Decision, Fold, Showdown
from ..solvers.chunked_solver import AveragePolicy
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .card_part import CardPart, Line, compile_part, follow, maxmargin_gadget, resolve_gadget
from .card_strategies import CardStrategies, best_values, copy_strategies, different_end
from .part import FOLLOW, check_constant_sum
from .resolved import ResolvedSubgame

UNSAFE, RESOLVE, MAXMARGIN = "unsafe", "resolve", "maxmargin"
METHODS = (UNSAFE, RESOLVE, MAXMARGIN)
"""Methods that do without arrays of hands x hands."""


def is_laid_out(method: str, record: Record) -> bool:
    """Whether a method needs arrays of hands x hands to solve with a record."""
    return method not in METHODS or (method == MAXMARGIN and record.is_exact)


@dataclass(frozen=True)
class CardBlueprint:
    """A policy of a game of cards as resolving needs it; of the game itself, or of one with other
    actions."""

    strategies: CardStrategies
    rules: CardGame
    """The game that is resolved in."""

    @property
    def game(self) -> CompiledCardGame:
        """The game of the policy."""
        return self.strategies.game

    @property
    def is_coarser(self) -> bool:
        """Whether the policy is of another game."""
        return self.game.rules is not self.rules


def find_card_blueprint(game: CompiledCardGame | CardGame, source: Any) -> CardBlueprint:
    """The blueprint of a source: a solution, a policy of the game or of one that deals the same
    hands, or any other form of a policy of a compiled game.

    Raises:
        TypeError: This is no source of a policy.
        ValueError: It is a policy of another game.
    """
    if isinstance(source, CardBlueprint):
        return source
    rules = game if isinstance(game, CardGame) else game.rules
    policy = source.policy if isinstance(source, Solution) else source
    if isinstance(policy, Policy) and isinstance(policy.game, CompiledCardGame):
        _check_deals(policy.game, rules)
        if (
            isinstance(game, CompiledGame)
            and policy.game is not game
            and policy.game.digest == game.digest
        ):
            rules = policy.game.rules
    elif isinstance(game, CompiledCardGame):
        policy = find_policy(game, policy, "blueprint")
    else:
        raise TypeError(
            f"blueprint must be a solution or a policy of a game of cards, not {brief(source)}"
        )
    return CardBlueprint(CardStrategies(policy), rules)


def _check_deals(coarse: CompiledCardGame, rules: CardGame) -> None:
    """Check that a game deals the hands of some rules.

    Raises:
        ValueError: It does not.
    """
    own = coarse.rules
    alike = own.board == rules.board and list(map(str, own.cards)) == list(map(str, rules.cards))
    for player in range(2):
        alike &= np.array_equal(own.hands[player], rules.hands[player])
        alike = alike and np.allclose(own.weights[player], rules.weights[player])
    if not alike:
        raise ValueError(
            f"the blueprint is for {coarse.name}, which deals other hands or boards than "
            f"{rules.name} here"
        )


def resolve_cards(
    blueprint: CardBlueprint,
    lines: Sequence[Line],
    players: Sequence[int],
    *,
    method: str,
    record: Record,
    iters: int | None,
) -> tuple[ResolvedSubgame, ...]:
    """Solve the subgames below some lines again; arguments as for
    :func:`tensorcfr.subgames.resolve`."""
    check_constant_sum(blueprint.game)
    tasks = [_Task(blueprint, line, player, method) for line in lines for player in players]
    return tuple(task.solved(record, iters) for task in tasks)


class _Task:
    """A game to solve for one player's strategy below one line.

    Raises:
        ValueError: The player never goes there; or the line has an action that the blueprint's game
            has not, and it is not the opponent's last one.
    """

    def __init__(self, blueprint: CardBlueprint, line: Line, player: int, method: str) -> None:
        self.blueprint, self.line, self.player, self.method = blueprint, line, player, method
        rules, opponent = blueprint.rules, 1 - player
        self.opponent = opponent
        # The sum of utilities is constant; either player gets half of it.
        self.end = sum(blueprint.game.utility_sums) / 4
        known = self._known_line()
        reach = blueprint.strategies.reach(known.steps, player)
        self.weights = list(rules.weights)
        self.weights[player] = self.weights[player] * reach
        self.part = CardPart(rules, line, self.weights, opponent, self.end)
        if not all(len(hands) for hands in self.part.hands):
            raise ValueError(
                f"player {player} never goes to {self.at!r} of {blueprint.game.name} under the "
                "blueprint: there is no range to resolve from"
            )
        self.game = compile_part(self.part)
        own = self.game
        if blueprint.is_coarser:
            own = compile_part(
                CardPart(blueprint.game.rules, known, self.weights, opponent, self.end)
            )
            self._check_ends(known)
        strategies = np.zeros(own.chunks.n_numbers)
        hands = [(one, np.arange(len(one))) for one in self.part.kept]
        copy_strategies(blueprint.strategies, known.steps, own, (FOLLOW,), hands, strategies)
        self.alternative = self._best(own, strategies)

    @property
    def at(self) -> str:
        """The name of the public node."""
        return " ".join(self.line.steps) or START

    def _known_line(self) -> Line:
        """The line of the blueprint's game whose values hold for this line: itself, or the one
        before the opponent's last action."""
        game, steps = self.blueprint.game, self.line.steps
        rules = game.rules
        if not self.blueprint.is_coarser:
            return self.line
        try:
            return follow(rules, steps)
        except ValueError:
            before = follow(self.blueprint.rules, steps[:-1])
            node = self.blueprint.rules.node(before.state)
            if isinstance(node, Decision) and node.player == self.opponent:
                try:
                    return follow(rules, steps[:-1])
                except ValueError:
                    pass
            raise ValueError(
                f"{self.at!r} is not one action of player {self.opponent} away from {game.name}, "
                "the game of the blueprint: resolve at an earlier line first"
            ) from None

    def _check_ends(self, known: Line) -> None:
        """Check that the blueprint's game pays what the game pays, wherever both end."""
        game, rules = self.blueprint.game, self.blueprint.rules
        weights = self.weights
        mine = unfold(CardPart(rules, follow(rules, known.steps), weights), rules.name)
        theirs = unfold(CardPart(game.rules, known, weights), game.name)
        found = different_end(mine, 0, theirs, 0)
        if found is not None:
            line, how = found
            line = " ".join([*known.steps, line])
            raise ValueError(
                f"the blueprint is for {game.name}, which {how} than {rules.name} here after "
                f"{line!r}"
            )

    def _best(self, game: CompiledCardGame, strategies: np.ndarray) -> np.ndarray:
        """What the opponent can expect with each hand of the whole game, float64 (hands,)."""
        entry = game.place(0, 0)
        part = game.rules
        assert isinstance(part, CardPart)
        found = np.full(len(self.blueprint.rules.hands[self.opponent]), np.nan)
        found[part.kept[self.opponent]] = best_values(game, strategies, self.opponent, entry.first)
        return found

    def solved(self, record: Record, iters: int | None) -> ResolvedSubgame:
        """Solve it."""
        kept = self.part.kept[self.opponent]
        at: tuple[str, ...] = ()
        if self.method == UNSAFE:
            reach = self.blueprint.strategies.reach(self._known_line().steps, self.opponent)
            weights = list(self.weights)
            weights[self.opponent] = weights[self.opponent] * reach
            part = CardPart(self.blueprint.rules, self.line, weights)
            if not all(len(hands) for hands in part.hands):
                raise ValueError(
                    f"the ranges leave no deal at {self.at!r} of {self.blueprint.game.name}"
                )
            game = compile_part(part)
        elif self.method == MAXMARGIN:
            game, part = maxmargin_gadget(self.part, self.opponent, self.alternative[kept])
        else:
            game = resolve_gadget(self.game, self.alternative[kept])
            at, part = (FOLLOW,), self.part
        solution = solve(game, record, iters=iters, checkpoints=())
        new = np.zeros(self.game.chunks.n_numbers)
        hands = [
            (np.arange(len(own)), np.searchsorted(mine, own))
            for own, mine in zip(part.kept, self.part.kept, strict=True)
        ]
        strategies = CardStrategies(solution.policy)
        copy_strategies(strategies, at, self.game, (FOLLOW,), hands, new, self.player)
        labels = self.blueprint.rules.hand_label
        n_hands = len(self.blueprint.rules.hands[self.opponent])
        return ResolvedSubgame(
            at=self.at,
            player=self.player,
            hands=tuple(labels(self.opponent, hand) for hand in range(n_hands)),
            alternative=self.alternative,
            values=self._best(self.game, new),
            game=game,
            solution=solution,
        )


def composed(
    game: CompiledCardGame | CardGame,
    blueprint: CardBlueprint,
    lines: Sequence[Line],
    subgames: Sequence[ResolvedSubgame],
) -> Policy:
    """The blueprint with the new strategies in it.

    Raises:
        ValueError: The game is not compiled, or merges hands.
    """
    if not isinstance(game, CompiledCardGame):
        raise ValueError(
            f"{game.name} is not compiled: the new strategies are those of subgames[k].solution"
        )
    if game.merges_hands:
        raise ValueError(
            f"{game.name} solves hands and boards as one that the new strategies tell apart: "
            "compile it with symmetry=False, or read subgames[k].solution"
        )
    found = np.zeros(game.chunks.n_numbers)
    every = [(np.arange(len(hands)), np.arange(len(hands))) for hands in game.rules.hands]
    copy_strategies(blueprint.strategies, (), game, (), every, found)
    by_name = {" ".join(line.steps) or START: line for line in lines}
    for one in subgames:
        strategies = CardStrategies(one.solution.policy)
        part = strategies.game.rules
        assert isinstance(part, CardPart)
        hands = [(np.arange(len(own)), own) for own in part.kept]
        at = () if part.opponent is None else (FOLLOW,)
        copy_strategies(strategies, at, game, by_name[one.at].steps, hands, found, one.player)
    return AveragePolicy(game, Numbers(found, None, found), None)


def find_lines(rules: CardGame, names: Sequence[str]) -> list[Line]:
    """The public nodes of some names, none of which is below another one.

    Raises:
        ValueError: There is no such line; the game is over there; or one is below another.
    """
    found = [follow(rules, "" if name.strip() == START else name) for name in names]
    for line in found:
        at = " ".join(line.steps)
        if isinstance(rules.node(line.state), (Fold, Showdown)):
            raise ValueError(f"at: {rules.name} is over at {at!r}: there is no subgame")
        for other in found:
            if other is not line and line.steps[: len(other.steps)] == other.steps:
                above = " ".join(other.steps) or START
                raise ValueError(f"at: {at!r} lies below {above!r}: subgames are disjoint")
    return found
