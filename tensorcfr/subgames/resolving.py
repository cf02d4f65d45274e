"""Resolving: strategies of a subgame solved again, without losing what the blueprint guarantees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import EXACT, Kind, OneOf, Whole, brief, checked
from ..algorithms import LP, Record
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..rules import CardGame
from ..solvers.arguments import Iterations, Named
from ..solvers.choose import asked_algorithm
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .blueprints import Blueprint, find_blueprint, subgames_of
from .compiled_part import Kept, Spot, Subgames
from .depth import Early
from .part import check_constant_sum
from .roots import PLAYERS, At, Steps, nodes_of
from .strategies import check_merges_nothing, copy_strategies, same_strategies, unmerged
from .tree_part import TreeSubgames


class Followed(NamedTuple):
    """A policy of a part of the game."""

    policy: Policy
    steps: Steps
    """The steps in its game that lead to where the part begins."""
    kept: Kept
    """Its hands."""


@dataclass(frozen=True, eq=False)
class ResolvedSubgame:
    """One player's strategy below one public node, solved again."""

    at: str
    """Name of the public node."""
    player: int
    """The player whose strategy was solved again."""
    hands: tuple[str, ...]
    """The hands of the opponent, which the next two arrays are over."""
    alternative: np.ndarray
    """float64 (hands,): expected value of the opponent with each hand, if they answer the blueprint
    optimally (with gifts, for methods that count them); NaN where the hand is never dealt."""
    values: np.ndarray
    """float64 (hands,): the same against the new strategy."""
    game: CompiledGame = field(repr=False)
    """The game that was solved: the gadget, or the subgame itself."""
    solution: Solution = field(repr=False)
    """Its solution."""
    followed: Followed = field(repr=False)
    """The blueprint below the public node, with the new strategies of the player in it."""

    @property
    def margins(self) -> dict[str, float]:
        """By how much the new strategy lowers the opponent's expected value with each hand that
        can be dealt.  A resolved strategy is safe if none is negative."""
        lower = (self.alternative - self.values).tolist()
        return {hand: m for hand, m in zip(self.hands, lower, strict=True) if not np.isnan(m)}

    @property
    def least_margin(self) -> float:
        """The smallest of the margins."""
        return min(self.margins.values())

    def __repr__(self) -> str:
        return (
            f"<ResolvedSubgame: player {self.player} at {self.at!r}, "
            f"least margin {self.least_margin:.6g}>"
        )


@dataclass(frozen=True, eq=False)
class Resolution:
    """The outcome of :func:`resolve`."""

    game: CompiledGame | CardGame
    """The whole game."""
    method: str
    """One of ``"unsafe"``, ``"resolve"``, ``"maxmargin"``, ``"reach-maxmargin"``."""
    algorithm: Record
    """The algorithm that solved the subgames."""
    subgames: tuple[ResolvedSubgame, ...]
    """What was solved, by public node and player."""
    compose: Callable[[], Policy] = field(repr=False)
    """What :attr:`policy` calls."""

    @cached_property
    def policy(self) -> Policy:
        """The blueprint with the new strategies in it, a policy of the whole game; where that
        merges hands, which the new strategies may tell apart, of the game that merges none, which
        is compiled then.

        Raises:
            ValueError: The game is given by its rules: then the new strategies are those of
                ``subgames[k].solution`` alone.
            MemoryLimitError: The game is too large where it merges no hands.
        """
        return self.compose()

    @property
    def least_margin(self) -> float:
        """The smallest margin of all."""
        return min(one.least_margin for one in self.subgames)

    def __repr__(self) -> str:
        return (
            f"<Resolution of {self.game.name} by {self.method}: {len(self.subgames)} subgames, "
            f"least margin {self.least_margin:.6g}>"
        )


METHODS = ("unsafe", "resolve", "maxmargin", "reach-maxmargin")
"""What :func:`resolve` can do; see there."""
UNSAFE, RESOLVE, MAXMARGIN, REACH_MAXMARGIN = METHODS
Resolvable = Annotated[
    CompiledGame | CardGame,
    Kind((CompiledGame, CardGame), "a compiled game, or the rules of a game of cards"),
]
ITERATIONS = 1000
"""Iterations on each subgame, if the caller does not say."""
REFINED = {"floor": 0.1, "floor_fall": 1.0}
"""Options of the default algorithm in the gadget of ``resolve``: see ``scripts/gadgets.py``."""


@checked()
def resolve(
    game: Resolvable,
    blueprint: Any,
    at: At,
    *,
    method: Annotated[str, OneOf(METHODS)] = "resolve",
    player: Annotated[int | None, OneOf(PLAYERS)] = None,
    algorithm: Named | None = None,
    iters: Iterations | None = None,
    depth_limit: Annotated[int | None, Whole(1, EXACT)] = None,
    continuations: Sequence[Any] | None = None,
) -> Resolution:
    """Solve a subgame again, from the ranges of a blueprint.

    For each public node and each player, the player's strategy below the node is replaced.  The
    subgames are disjoint and solved one by one; each relies on the blueprint alone.

    ==================== ==========================================================================
    method               meaning
    ==================== ==========================================================================
    ``unsafe``           the opponent's range is taken from the blueprint; may make a strategy
                         more exploitable
    ``resolve``          the opponent may take the value that the blueprint gives them, by hand
                         (Burch, Johanson and Bowling, 2014)
    ``maxmargin``        lowers the opponent's value with every hand, as much as possible with the
                         hand where least is possible (Moravčík et al., 2016)
    ``reach-maxmargin``  the same, where the opponent may first get back what their actions on the
                         way have lost (Brown and Sandholm, 2017)
    ==================== ==========================================================================

    All but the first are *safe* in zero-sum games: no best response earns more than against the
    blueprint, up to the error of the solutions.  In other games, a spot with rake say, where the
    first two alone can be had, nothing is promised, for a player may gain by what the opponent
    gains, too; the margins say what came out.  The gifts of ``reach-maxmargin`` are divided
    among the subgames below an action in proportion to their probability, so that it is safe for
    any set of them.

    No game is laid out.  Subgames of games of cards are compiled without arrays of hands x hands,
    except for ``reach-maxmargin``, for the linear program, and where they end early: these are for
    small ones.

    >>> from tensorcfr import Policy, compile_game, evaluate
    >>> game = compile_game("leduc")
    >>> found = resolve(game, Policy.uniform(game), "rc/Ks", method="maxmargin", algorithm="lp")
    >>> found.least_margin > 0.1
    True

    Args:
        game: A game of private hands between two players.  A game of cards may be given by its
            rules: then the subgames alone are compiled.
        blueprint: A solution, a policy, or whatever :func:`tensorcfr.formats.find_policy` reads.
            It may be a policy of a coarser game: one with fewer actions, otherwise equal infosets,
            and equal payoffs wherever both games end.  Below an action of the opponent that the
            coarser game has not, the alternative value is the one before the action (nested
            resolving).
        at: Public nodes by name, as for :func:`belief`; in games of cards by line, ``"check bet66
            call 7s"``.
        method: See above.
        player: Whose strategies; by default those of both players.
        algorithm: A name or a record, ``"lp"`` for the linear program; by default that of
            ``solve``, for ``resolve`` with a floor that falls.  With every hand the opponent then
            follows now and then, and the new strategies are good against hands that gain nothing
            by it, too: of the equilibria of the gadget, which has many, one that loses less in the
            whole game (Kubicek, Lisy and Sandholm, 2026; they let the gadget's decisions alone
            tremble).
        iters: Iterations on each subgame; by default 1,000, and none for the linear program.
        depth_limit: Public steps below each node after which the subgame ends.  The opponent then
            chooses, with every hand, one of the ``continuations`` for the rest of the game, in
            which the player goes on by the blueprint (Brown, Sandholm and Amos, 2018).  The
            resolved strategies are safe if some continuation is a best response wherever it is
            needed.
        continuations: Strategies that the opponent may choose among: policies of the game, or
            solutions, of which the opponent's part counts.  By default the blueprint alone, which
            takes for granted that the opponent goes on as it says.

    Raises:
        ValueError: There is no such public node, or the player never goes there; the blueprint or a
            continuation is of another game; the game is not zero-sum, and the method, the
            algorithm or a depth limit needs that; there are continuations and no depth limit; the
            game is given by its rules, and the method would lay it out.
        MemoryLimitError: A subgame of a game of cards is too large to be made hand by hand.
    """
    record = asked_algorithm(algorithm, game)
    if algorithm is None and method == RESOLVE:
        record = record(**REFINED)
    if iters is None and not record.is_exact:
        iters = ITERATIONS
    ends_early = depth_limit is not None or continuations is not None
    by_pairs = ends_early or method == REACH_MAXMARGIN or (method == MAXMARGIN and record.is_exact)
    whole = subgames_of(game, by_pairs=by_pairs)
    if by_pairs and whole.game is None:
        raise ValueError(
            f"reach-maxmargin, maxmargin by {LP}, depth_limit and continuations need arrays of "
            f"hands x hands: compile {whole.name}, if it is small"
        )
    spots, found = whole.find(at), find_blueprint(whole, blueprint)
    if by_pairs or method == MAXMARGIN or record.is_exact:
        check_constant_sum(found.policy.game)
    given = _continuations(whole, found, depth_limit, continuations)
    if depth_limit is not None and whole.game is not None:
        early = Early(int(depth_limit), found.lifted, given)
        whole = TreeSubgames(whole.game, early)
    tasks = [
        _Task(whole, found, spot, own, method)
        for spot in spots
        for own in (PLAYERS if player is None else (player,))
    ]
    solved = tuple(task.solved(record, iters) for task in tasks)
    return Resolution(
        game, method, record, solved, lambda: _composed(found, [t.spot for t in tasks], solved)
    )


def _continuations(
    whole: Subgames, blueprint: Blueprint, depth_limit: int | None, given: Any
) -> list[Policy]:
    """The continuation strategies, checked."""
    if depth_limit is None and given is not None:
        raise ValueError("continuations are for subgames that end early: give depth_limit")
    if given is None:
        return [] if depth_limit is None else [blueprint.lifted]
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
        raise TypeError(f"continuations must be several policies, not {brief(given)}")
    if not given:
        raise ValueError("continuations names no policy")
    found = []
    for number, one in enumerate(given):
        try:
            found.append(find_blueprint(whole, one).lifted)
        except (TypeError, ValueError) as error:
            raise type(error)(f"continuations[{number}]: {error}") from None
    return found


class _Task:
    """A game to solve for one player's strategy below one public node.

    Raises:
        ValueError: The player never goes there; or it is further than one action of the opponent
            away from the blueprint's game, or that game is no coarser form of this one.
    """

    def __init__(
        self, whole: Subgames, blueprint: Blueprint, spot: Spot, player: int, method: str
    ) -> None:
        self.whole, self.blueprint, self.spot, self.player = whole, blueprint, spot, player
        opponent, steps = 1 - player, spot.steps
        known = blueprint.known(steps, opponent)
        constant = sum(blueprint.policy.game.utility_sums) / 2
        reach = [np.ones(len(hands)) for hands in whole.hands]
        reach[player] = blueprint.reach(known, player)
        part = whole.part(steps, reach, player, constant)
        if part is None:
            raise ValueError(
                f"player {player} never goes to {spot.name!r} of {blueprint.policy.game.name} "
                "under the blueprint: there is no range to resolve from"
            )
        own = (
            part if not blueprint.is_coarser else blueprint.own.part(known, reach, player, constant)
        )
        assert own is not None  # The same hands are dealt.
        blueprint.check_ends(known)
        self.alternative = blueprint.entry_values(own, known)
        if method == REACH_MAXMARGIN:
            self.alternative = self.alternative + blueprint.gifts(known, opponent)
        self.part = self.played = part
        if method == UNSAFE:
            reach[opponent] = blueprint.reach(known, opponent)
            played = whole.part(steps, reach, player, constant, entry=False)
            if played is None:
                raise ValueError(f"the ranges leave no deal at {spot.name!r} of {whole.name}")
            self.played, self.gadget = played, played.plain()
        else:
            make = part.resolve_gadget if method == RESOLVE else part.maxmargin_gadget
            self.gadget = make(self.alternative)

    def solved(self, record: Record, iters: int | None) -> ResolvedSubgame:
        """Solve it."""
        game, blueprint = self.gadget.game, self.blueprint
        # The linear program is over pairs of hands.
        game = game.flat() if record.is_exact else game
        solution = solve(game, record, iters=iters, checkpoints=())
        at, new = blueprint.node(self.spot.steps), {}
        for part in dict.fromkeys((self.part, self.played)):
            new[part] = part.strategies(blueprint.policy, at)
            part.replace(new[part], self.gadget, solution.policy)
        played = self.played
        return ResolvedSubgame(
            at=self.spot.name,
            player=self.player,
            hands=self.whole.hands[1 - self.player],
            alternative=self.alternative,
            values=self.part.best_values(new[self.part]),
            game=game,
            solution=solution,
            followed=Followed(Policy(played.game, new[played]), played.steps, played.kept),
        )


def _composed(
    blueprint: Blueprint, spots: Sequence[Spot], solved: Sequence[ResolvedSubgame]
) -> Policy:
    """The blueprint with the new strategies in it.

    Raises:
        ValueError: The game is not compiled, or a public tree that was cut and merges hands.
    """
    lifted = blueprint.lifted
    game = unmerged(lifted.game)
    check_merges_nothing(game)
    lifted = lifted if game is lifted.game else same_strategies(lifted, game)
    nodes, found = nodes_of(game), np.array(lifted.probabilities)
    for spot, one in zip(spots, solved, strict=True):
        policy, steps, kept = one.followed
        hands = [(np.arange(len(own)), own) for own in kept]
        at, to = nodes_of(policy.game).find_node(steps), nodes.find_node(spot.steps)
        copy_strategies(policy, at or 0, nodes, to or 0, hands, found, one.player)
    return Policy(game, found)
