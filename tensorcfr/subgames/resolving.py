"""Resolving: strategies of a subgame are solved again, and keep the guarantees of the blueprint."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from .._util.argument_checks import EXACT, Kind, OneOf, Whole, brief, checked
from ..algorithms import LP, Record
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..rules import CardGame
from ..solvers.choose import resolve_algorithm
from ..solvers.driver import solve
from ..solvers.solution import Solution
from ..solvers.solver_arguments import Iterations, Named
from .blueprints import Blueprint, find_blueprint, subgames_of
from .card_part import CardSubgames
from .compiled_part import NamedNode, PartHands, Subgames
from .copied_strategies import check_merges_nothing, copy_strategies, same_strategies, unmerged
from .depth import DepthLimit
from .roots import PLAYERS, At, Steps, nodes_of
from .subgame_rules import check_constant_sum
from .tree_part import TreeSubgames


class PartPolicy(NamedTuple):
    """Policy of a part of the game."""

    policy: Policy
    steps: Steps
    """Steps in its game that lead to the start of the part."""
    part_hands: PartHands
    """Hands of the part."""


@dataclass(frozen=True, eq=False)
class ResolvedSubgame:
    """Strategy of one player, or of all three, below one public node, solved again."""

    public_node: str
    """Name of the public node."""
    player: int | None
    """The player whose strategy was solved again; None for all three players."""
    hands: tuple[str, ...]
    """Hands of the opponent, over which the next two arrays are indexed; empty with three players,
    who have no single opponent."""
    alternative: np.ndarray
    """float64 (hands,): expected value of the opponent with each hand, if they play a best response
    to the blueprint (with gifts, for methods that count them); NaN if the hand is never dealt."""
    values: np.ndarray
    """float64 (hands,): expected value of the opponent against the new strategy."""
    game: CompiledGame = field(repr=False)
    """The game that was solved: the gadget, or the subgame itself."""
    solution: Solution = field(repr=False)
    """Solution of that game."""
    followed: PartPolicy = field(repr=False)
    """Blueprint below the public node, with the new strategies of the player in it.  With three
    players all strategies are new."""

    @property
    def margins(self) -> dict[str, float]:
        """Margin of each hand that can be dealt: the decrease of the opponent's expected value
        under the new strategy. A resolved strategy is safe if no margin is negative."""
        lower = (self.alternative - self.values).tolist()
        return {hand: m for hand, m in zip(self.hands, lower, strict=True) if not np.isnan(m)}

    @property
    def least_margin(self) -> float:
        """Smallest of the margins; NaN with three players."""
        return min(self.margins.values(), default=math.nan)

    def __repr__(self) -> str:
        who = "all players" if self.player is None else f"player {self.player}"
        margin = _margin_text(self.least_margin)
        return f"<ResolvedSubgame: {who} at {self.public_node!r}{margin}>"


@dataclass(frozen=True, eq=False)
class Resolution:
    """Result of :func:`resolve`."""

    game: CompiledGame | CardGame
    """The whole game."""
    method: str
    """One of ``"unsafe"``, ``"resolve"``, ``"maxmargin"``, ``"reach-maxmargin"``."""
    algorithm: Record
    """The algorithm that solved the subgames."""
    subgames: tuple[ResolvedSubgame, ...]
    """Resolved subgames, by public node and player."""
    compose: Callable[[], Policy] = field(repr=False)
    """Function that computes :attr:`policy`."""

    @cached_property
    def policy(self) -> Policy:
        """Blueprint with the new strategies in it, a policy of the whole game.

        The new strategies may distinguish hands that the whole game merges. The policy is then for
        the game without merged hands, which is compiled first.

        Raises:
            ValueError: The game is given by its rules: only ``subgames[k].solution`` has the new
                strategies.
            MemoryLimitError: The game without merged hands is too large.
        """
        return self.compose()

    @property
    def least_margin(self) -> float:
        """Smallest margin of all subgames."""
        return min(subgame.least_margin for subgame in self.subgames)

    def __repr__(self) -> str:
        return (
            f"<Resolution of {self.game.name} by {self.method}: {len(self.subgames)} subgames"
            f"{_margin_text(self.least_margin)}>"
        )


def _margin_text(margin: float) -> str:
    return "" if math.isnan(margin) else f", least margin {margin:.6g}"


METHODS = ("unsafe", "resolve", "maxmargin", "reach-maxmargin")
"""Methods of :func:`resolve`."""
UNSAFE, RESOLVE, MAXMARGIN, REACH_MAXMARGIN = METHODS
Resolvable = Annotated[
    CompiledGame | CardGame,
    Kind((CompiledGame, CardGame), "a compiled game, or the rules of a game of cards"),
]
ITERATIONS = 1000
"""Default number of iterations on each subgame."""
SEATS = (0, 1, 2)
"""Players; only games of cards can have the third."""
REFINED = {"floor": 0.1, "floor_fall": 1.0}
"""Options of the default algorithm in the gadget of ``resolve``; measured in docs/subgames.md."""


@checked()
def resolve(
    game: Resolvable,
    blueprint: Any,
    public_nodes: At,
    *,
    method: Annotated[str, OneOf(METHODS)] = "resolve",
    player: Annotated[int | None, OneOf(SEATS)] = None,
    algorithm: Named | None = None,
    iters: Iterations | None = None,
    depth_limit: Annotated[int | None, Whole(1, EXACT)] = None,
    continuations: Sequence[Any] | None = None,
) -> Resolution:
    """Solve a subgame again, from the ranges of a blueprint.

    For each public node and each player, the player's strategy below the node is replaced. The
    subgames are disjoint and solved one by one; each relies only on the blueprint.

    The methods are:

    * ``unsafe``: the opponent's range is taken from the blueprint. The strategy may become more
      exploitable.
    * ``resolve``: the opponent may take, by hand, the value that the blueprint gives them (Burch,
      Johanson and Bowling, 2014).
    * ``maxmargin``: lowers the opponent's value with every hand, and maximises the smallest
      decrease (Moravčík et al., 2016).
    * ``reach-maxmargin``: like ``maxmargin``, but the opponent may first recover the losses of
      their actions on the way (Brown and Sandholm, 2017).

    All methods except ``unsafe`` are *safe* in zero-sum games: no best response earns more than
    against the blueprint, up to the error of the solutions. In other games, such as a spot with
    rake, only ``unsafe`` and ``resolve`` are available, without a guarantee: a player's gain need
    not be the opponent's loss. The margins then report the outcome. The gifts of
    ``reach-maxmargin`` are divided among the subgames below an action in proportion to their
    probability, so it is safe for any set of them.

    With three players, in games of cards, there is no safe method, and only ``unsafe`` is
    available. All players' ranges are taken from the blueprint, and all strategies below the node
    are solved together. An opponent whose values do not increase may still take more from one of
    the two others, so gadgets would not protect a player. There are no margins:
    :func:`tensorcfr.evaluate` of the new policy has the exact gain of each player.

    No game is converted to a flat one. Subgames of games of cards are compiled without arrays over
    pairs of hands. The exceptions, for small games, are ``reach-maxmargin``, the linear program,
    and subgames that end early.

    >>> from tensorcfr import Policy, compile_game, evaluate
    >>> game = compile_game("leduc")
    >>> uniform = Policy.uniform(game)
    >>> resolution = resolve(game, uniform, "rc/Ks", method="maxmargin", algorithm="lp")
    >>> resolution.least_margin > 0.1
    True

    Args:
        game: A game of private hands between two players, or a game of cards of three without
            all-ins before the flop. A game of cards may be given by its rules; then only the
            subgames are compiled.
        blueprint: A solution, a policy, or any form that :func:`tensorcfr.formats.find_policy`
            reads. It may be a policy of a coarser game: one with fewer actions, otherwise equal
            infosets, and equal payoffs wherever both games end. Below an action of the opponent
            that the coarser game lacks, the alternative value is the value before the action
            (nested resolving).
        public_nodes: Public nodes by name, as for :func:`belief`; in games of cards by line,
            ``"check bet66 call 7s"``.
        method: One of the methods above.
        player: The player whose strategies are replaced; by default all. In a game of two, a
            player without a decision there may be named, for values and margins.
        algorithm: A name or a record, ``"lp"`` for the linear program. By default the algorithm of
            ``solve``; for ``resolve``, with a floor that falls. The floor makes the opponent follow
            sometimes with every hand, so that the new strategies are also good against hands that
            gain nothing by following. Of the many equilibria of the gadget, it selects one that
            loses less in the whole game (Kubicek, Lisy and Sandholm, 2026, where only the gadget's
            decisions tremble).
        iters: Number of iterations on each subgame; by default 1,000, and none for the linear
            program.
        depth_limit: Number of public steps below each node after which the subgame ends. The
            opponent then chooses, with every hand, one of the ``continuations`` for the rest of the
            game, in which the player follows the blueprint (Brown, Sandholm and Amos, 2018). The
            resolved strategies are safe if some continuation is a best response wherever it is
            needed. A player without a decision within these steps keeps the blueprint.
        continuations: Strategies that the opponent may choose among: policies of the game, or
            solutions, of which the opponent's part is used. By default only the blueprint, which
            assumes that the opponent follows it.

    Raises:
        ValueError: There is no such public node, or the player never goes there, or is one of three
            and has no decision there; or the blueprint or a continuation is of another game. Or the
            game is not zero-sum, and the method, the algorithm or a depth limit needs that. Or
            there are continuations and no depth limit. Or the game is given by its rules, and the
            method needs a flat game.
        MemoryLimitError: A subgame of a game of cards is too large to be compiled hand by hand.
    """
    record = resolve_algorithm(algorithm, game)
    ends_early = depth_limit is not None or continuations is not None
    if game.n_players > 2:
        _check_for_three(game, method, record, ends_early=ends_early)
    elif player == 2:
        raise ValueError(f"player must be 0 or 1, not 2: {game.name} has two players")
    if algorithm is None and method == RESOLVE:
        record = record(**REFINED)
    if iters is None and not record.is_exact:
        iters = ITERATIONS
    by_pairs = ends_early or method == REACH_MAXMARGIN or (method == MAXMARGIN and record.is_exact)
    whole = subgames_of(game, by_pairs=by_pairs)
    if by_pairs and whole.game is None:
        raise ValueError(
            f"reach-maxmargin, maxmargin by {LP}, depth_limit and continuations need arrays "
            f"of hands x hands: if {whole.name} is small, compile it as a flat game"
        )
    spots, full_blueprint = whole.find(public_nodes), find_blueprint(whole, blueprint)
    if by_pairs or method == MAXMARGIN or record.is_exact:
        check_constant_sum(full_blueprint.policy.game)
    checked_continuations = _continuations(whole, full_blueprint, depth_limit, continuations)
    if depth_limit is not None and whole.game is not None:
        early = DepthLimit(int(depth_limit), full_blueprint.lifted, checked_continuations)
        whole = TreeSubgames(whole.game, early)
    tasks: list[Any]
    if game.n_players > 2:
        # Subgames of three players are refused unless they are of cards.
        of_cards = cast(CardSubgames, whole)
        tasks = [_JointTask(of_cards, full_blueprint, spot, player) for spot in spots]
    else:
        tasks = [
            _Task(whole, full_blueprint, spot, seat, method)
            for spot in spots
            for seat in (PLAYERS if player is None else (player,))
        ]
    solved = tuple(task.solved(record, iters) for task in tasks)
    return Resolution(
        game,
        method,
        record,
        solved,
        lambda: _composed(full_blueprint, [t.spot for t in tasks], solved),
    )


def _continuations(
    whole: Subgames, blueprint: Blueprint, depth_limit: int | None, continuations: Any
) -> list[Policy]:
    """Return the continuation strategies, checked.

    Raises:
        TypeError: They are not a sequence, or one of them is not a policy.
        ValueError: There is no depth limit, no policy, or one of another game.
    """
    if depth_limit is None and continuations is not None:
        raise ValueError(
            "continuations needs depth_limit: only subgames that end early have continuations"
        )
    if continuations is None:
        return [] if depth_limit is None else [blueprint.lifted]
    if isinstance(continuations, (str, Mapping)) or not isinstance(continuations, Sequence):
        raise TypeError(f"continuations must be several policies, not {brief(continuations)}")
    if not continuations:
        raise ValueError("continuations names no policy")
    policies = []
    for number, source in enumerate(continuations):
        try:
            policies.append(find_blueprint(whole, source).lifted)
        except (TypeError, ValueError) as error:
            raise type(error)(f"continuations[{number}]: {error}") from None
    return policies


def _check_for_three(game: Any, method: str, record: Record, *, ends_early: bool) -> None:
    """Check the arguments of :func:`resolve` in a game of more than two players.

    Raises:
        ValueError: The method, the algorithm or a depth limit is for two players.
    """
    reason = ""
    if method != UNSAFE:
        reason = (
            f"method={method!r} is for two players, because it bounds the values of one opponent "
            f"only: give method={UNSAFE!r}, which promises nothing"
        )
    elif record.is_exact:
        reason = f"{record.name} needs two players"
    elif ends_early:
        reason = "depth_limit and continuations need two players"
    if reason:
        raise ValueError(f"{game.name} has {game.n_players} players: {reason}")


class _JointTask:
    """Subgame below one public node, to be solved for all players from the blueprint's ranges.

    Raises:
        ValueError: The blueprint's game lacks the node, or is not a coarser form of this one; or
            the ranges leave no deal.
    """

    def __init__(
        self, whole: CardSubgames, blueprint: Blueprint, spot: NamedNode, player: int | None
    ) -> None:
        self.spot, self.player = spot, player
        if blueprint.node(spot.steps) is None:
            raise ValueError(
                f"{blueprint.policy.game.name}, the game of the blueprint, has no line "
                f"{spot.name!r}, so that there are no ranges to resolve from"
            )
        blueprint.check_ends(spot.steps)
        reach = [blueprint.reach(spot.steps, seat) for seat in range(len(whole.hands))]
        part = whole.whole_part(spot.steps, reach)
        if part is None:
            raise ValueError(f"the ranges leave no deal at {spot.name!r} of {whole.name}")
        if player is not None and not any(rows.labels for rows in part.game.rows(player)):
            raise ValueError(f"player {player} has no decision in the subgame at {spot.name!r}")
        self.part = part

    def solved(self, record: Record, iters: int | None) -> ResolvedSubgame:
        """Solve the subgame."""
        game, steps, part_hands, _ = self.part
        solution = solve(game, record, iters=iters, checkpoints=())
        return ResolvedSubgame(
            public_node=self.spot.name,
            player=self.player,
            hands=(),
            alternative=np.zeros(0),
            values=np.zeros(0),
            game=game,
            solution=solution,
            followed=PartPolicy(solution.policy, steps, part_hands),
        )


class _Task:
    """Game to solve for one player's strategy below one public node.

    Raises:
        ValueError: The player never goes there; or it is more than one action of the opponent away
            from the blueprint's game, or that game is not a coarser form of this one.
    """

    def __init__(
        self, whole: Subgames, blueprint: Blueprint, spot: NamedNode, player: int, method: str
    ) -> None:
        self.whole, self.blueprint, self.spot, self.player = whole, blueprint, spot, player
        opponent, steps = 1 - player, spot.steps
        # The blueprint's values hold at ``known_steps``, which may be one action above ``steps``.
        known_steps = blueprint.known(steps, opponent)
        constant = sum(blueprint.policy.game.utility_sums) / 2
        # The opponent's range stays 1: the gadget lets them choose to enter with every hand.
        reach = [np.ones(len(hands)) for hands in whole.hands]
        reach[player] = blueprint.reach(known_steps, player)
        part = whole.part(steps, reach, player, constant)
        if part is None:
            raise ValueError(
                f"player {player} never reaches {spot.name!r} of "
                f"{blueprint.policy.game.name} under the blueprint: there is no range to "
                "resolve from"
            )
        blueprint_part = (
            part
            if not blueprint.is_coarser
            else blueprint.source.part(known_steps, reach, player, constant)
        )
        assert blueprint_part is not None  # The same hands are dealt.
        blueprint.check_ends(known_steps)
        self.alternative = blueprint.entry_values(blueprint_part, known_steps)
        if method == REACH_MAXMARGIN:
            self.alternative = self.alternative + blueprint.gifts(known_steps, opponent)
        self.part = self.played = part
        if method == UNSAFE:
            reach[opponent] = blueprint.reach(known_steps, opponent)
            played = whole.part(steps, reach, player, constant, entry=False)
            if played is None:
                raise ValueError(f"the ranges leave no deal at {spot.name!r} of {whole.name}")
            self.played, self.gadget = played, played.plain()
        else:
            make = part.resolve_gadget if method == RESOLVE else part.maxmargin_gadget
            self.gadget = make(self.alternative)

    def solved(self, record: Record, iters: int | None) -> ResolvedSubgame:
        """Solve the game, and return the resolved subgame."""
        game, blueprint = self.gadget.game, self.blueprint
        # The linear program needs the payoffs of pairs of hands.
        game = game.flat() if record.is_exact else game
        solution = solve(game, record, iters=iters, checkpoints=())
        node, new = blueprint.node(self.spot.steps), {}
        for part in dict.fromkeys((self.part, self.played)):
            new[part] = part.strategies(blueprint.policy, node)
            part.replace(new[part], self.gadget, solution.policy)
        played = self.played
        return ResolvedSubgame(
            public_node=self.spot.name,
            player=self.player,
            hands=self.whole.hands[1 - self.player],
            alternative=self.alternative,
            values=self.part.best_values(new[self.part]),
            game=game,
            solution=solution,
            followed=PartPolicy(Policy(played.game, new[played]), played.steps, played.part_hands),
        )


def _composed(
    blueprint: Blueprint, spots: Sequence[NamedNode], solved: Sequence[ResolvedSubgame]
) -> Policy:
    """Return the blueprint with the new strategies in it.

    Raises:
        ValueError: The game is not compiled, or is a public tree in chunks with merged hands.
    """
    lifted = blueprint.lifted
    game = unmerged(lifted.game)
    check_merges_nothing(game)
    lifted = lifted if game is lifted.game else same_strategies(lifted, game)
    nodes, probabilities = nodes_of(game), np.array(lifted.probabilities)
    for spot, subgame in zip(spots, solved, strict=True):
        policy, steps, part_hands = subgame.followed
        hands = [(np.arange(len(numbers)), numbers) for numbers in part_hands]
        source_node = nodes_of(policy.game).find_node(steps)
        target_node = nodes.find_node(spot.steps)
        copy_strategies(
            policy, source_node or 0, nodes, target_node or 0, hands, probabilities, subgame.player
        )
    return Policy(game, probabilities)
