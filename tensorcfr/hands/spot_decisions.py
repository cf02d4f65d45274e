"""Decisions of a solved spot, with the situations that count hands and the reaches there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from ..analysis.hand_tables import equities_at
from ..compilers.cards.card_public_nodes import CardNodes
from ..games.poker.deck import CARDS
from ..games.poker.spot import Spot
from ..model.card_structure import DEAL, DECISION
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from .played_hands import BET, RAISE, STREETS
from .situations import (
    ANY,
    IP,
    OOP,
    HandSituation,
    StreetCourse,
    action_class,
    board_class,
    stack_class,
)

SEATS = (OOP, IP)
"""Position of each player of a spot."""


class SpotDecision(NamedTuple):
    """Decision of a player at a line of a spot, on several boards.

    Of boards that differ only in suits there is one.
    """

    nodes: np.ndarray
    """int64 (boards,): public node on each board."""
    situations: tuple[HandSituation, ...]
    """Situation on each board; the course before the spot is unknown unless it was given."""
    labels: tuple[str, ...]
    """Labels of the actions."""
    classes: tuple[str, ...]
    """Class of each action."""
    strategy: np.ndarray
    """float64 (boards, hands, actions): strategy of the given policy; 0 for hands that are
    impossible on a board."""
    weight: np.ndarray
    """float64 (boards, hands): probability of each hand and of reaching the node with it."""
    numbers: np.ndarray
    """int64 (boards, hands, actions): positions in the arrays of a policy.  They are -1 for hands
    that are impossible on a board, and for decisions with one action."""
    find_equity: Callable[[], np.ndarray]
    """Function that computes the equity of each hand against the other player's range, float64
    (boards, hands)."""

    @property
    def street(self) -> str:
        """Street of the decision."""
        return self.situations[0].street

    @property
    def line(self) -> str:
        """Classes of the actions on this street so far."""
        return self.situations[0].line


Change = Callable[[SpotDecision], np.ndarray]
"""Function that returns another strategy at a decision, float64 (boards, hands, actions)."""


def nodes_of_spot(game: CompiledGame) -> CardNodes:
    """Return the public nodes of a spot of two players.

    Raises:
        ValueError: The game is not such a spot.
    """
    rules = getattr(game.nodes, "rules", None)
    if not isinstance(rules, Spot) or rules.n_players != 2:
        raise ValueError(f"game must be a spot of two players after the flop, not {brief(game)}")
    return CardNodes.of(game)


def size_class(rules: Spot, state: object, label: str) -> str:
    """Return the class of an action of a spot."""
    word, share = size_of(rules, state, label)
    return action_class(word, share, is_all_in=label == "allin")


def size_of(rules: Spot, state: object, label: str) -> tuple[str, float]:
    """Return the action of a label, and its size as a share of the pot after a call."""
    if label in ("fold", "check", "call"):
        return label, 0.0
    betting = rules.betting
    highest = max(state.street_put)  # type: ignore[attr-defined]
    amount = betting.raised_to(state, label)  # type: ignore[arg-type]
    pot = betting.pot + 2 * (state.put + highest)  # type: ignore[attr-defined]
    return (RAISE if highest else BET), (amount - highest) / pot


class _Boards(NamedTuple):
    """Boards of a round that follow one board; of boards that differ only in suits there is one."""

    boards: np.ndarray
    """int64 (boards,): their numbers."""
    solved: np.ndarray
    """int64 (boards,): their numbers among the solved boards."""
    kinds: np.ndarray
    """int64 (boards,): kind of each board."""
    lanes: tuple[np.ndarray, ...]
    """int64 (boards, hands) for each player: lane of each hand, -1 if it is impossible."""

    @classmethod
    def after(cls, nodes: CardNodes, round_: int, board: int) -> _Boards:
        """Return the boards of a round that follow a board, and on which a deal of hands is
        possible.
        """
        of_round = nodes.symmetry.rounds[round_]
        follows = of_round.board[nodes.boards[round_].parent[of_round.board] == board].tolist()
        node = int(np.flatnonzero(nodes.betting.round == round_)[0])
        boards = [k for k in follows if nodes.possible(nodes.number(node, k), 0).any()]
        solved = of_round.of_board[boards]
        lanes = tuple(
            np.array([nodes.symmetry.class_of(player, round_, k) for k in boards])
            for player in range(2)
        )
        return cls(np.array(boards, dtype=np.int64), solved, of_round.played[solved], lanes)

    def numbers(self, nodes: CardNodes, node: int) -> np.ndarray:
        """Return :attr:`SpotDecision.numbers` of a node of the betting."""
        lane = self.lanes[nodes.betting.player[node]][:, :, None]
        stride = nodes.node_stride[self.kinds, node][:, None, None]
        first = nodes.first_numbers(node, self.solved)[:, None, None]
        numbers: np.ndarray = first + lane + stride * np.arange(nodes.betting.children[node])
        return np.where((lane >= 0) & (stride > 0), numbers, -1)


class _Line(NamedTuple):
    """Line of a spot, on several boards."""

    node: int
    """Node of the betting."""
    state: Any
    course: StreetCourse
    """Actions of the street so far."""
    before: str
    """Course of the hand before the street."""
    stack: str
    """Class of the stacks at the first decision of the street; empty before it."""
    boards: _Boards
    own_reaches: tuple[np.ndarray, ...]
    """float64 (boards, hands) for each changed strategy: own reach of the player."""
    opponent_reach: np.ndarray
    """float64 (boards, hands): own reach of the other player."""


def spot_decisions(
    game: CompiledGame,
    policy: Policy,
    player: int,
    *,
    pot_class: str | None = None,
    changes: Sequence[Change] = (),
) -> Iterator[SpotDecision]:
    """Yield the decisions of a player that some hand reaches, each before those after it.

    Args:
        game: The spot.
        policy: Strategies of both players.
        player: The player.
        pot_class: Class of the pot before the flop, ``"raised"``; None if it is unknown.
        changes: Functions that return other strategies of the player.  Each gets the weights to
            which its own strategies lead.  The decisions that are yielded have the weights of the
            first function.
    """
    nodes = nodes_of_spot(game)
    rules, betting = nodes.rules, nodes.betting
    assert isinstance(rules, Spot)
    boards_after = cache(partial(_Boards.after, nodes))
    before = ANY if pot_class is None or rules.street else pot_class
    units = [np.ones((1, len(rules.hands[seat]))) for seat in (player, 1 - player)]
    own_reaches = (units[0],) * max(1, len(changes))
    course, boards = StreetCourse(), boards_after(0, 0)
    pending = [_Line(0, rules.root(), course, before, "", boards, own_reaches, units[1])]
    while pending:
        line = pending.pop()
        if betting.kind[line.node] == DEAL:
            pending += list(_deal(nodes, line, boards_after))[::-1]
        if betting.kind[line.node] != DECISION or not line.boards.boards.size:
            continue
        chips = rules.chips(line.state)
        line = line._replace(stack=line.stack or stack_class(min(chips.behind or ()) / chips.pot))
        decision = _decision(nodes, line, policy, player)
        strategies = [decision.strategy] * len(line.own_reaches)
        if betting.player[line.node] == player:
            weights = [decision.weight * reach for reach in line.own_reaches]
            yield decision._replace(weight=weights[0])
            strategies = [
                change(decision._replace(weight=weight))
                for change, weight in zip(changes, weights, strict=False)
            ] or strategies
        pending += list(_act(nodes, line, decision, strategies, player))[::-1]


def _deal(
    nodes: CardNodes, line: _Line, boards_after: Callable[[int, int], _Boards]
) -> Iterator[_Line]:
    """Yield the lines after a deal, one for each board before it."""
    state = nodes.rules.next(line.state, None)
    before, round_ = line.before, int(nodes.betting.round[line.node]) + 1
    if before != ANY:
        before = f"{before}; {STREETS[line.state.street + 1]} {line.course.summary}"
    node = int(nodes.betting.first_child[line.node])
    for row, board in enumerate(line.boards.boards.tolist()):
        boards = boards_after(round_, board)
        # All boards have the reaches of the board before them.
        own_reaches = tuple(_repeat(reach[row], boards) for reach in line.own_reaches)
        reach = _repeat(line.opponent_reach[row], boards)
        yield _Line(node, state, StreetCourse(), before, "", boards, own_reaches, reach)


def _repeat(reach: np.ndarray, boards: _Boards) -> np.ndarray:
    return np.broadcast_to(reach, (len(boards.boards), len(reach)))


def _act(
    nodes: CardNodes,
    line: _Line,
    decision: SpotDecision,
    strategies: Sequence[np.ndarray],
    player: int,
) -> Iterator[_Line]:
    """Yield the line after each action of a decision."""
    actor, begin = int(nodes.betting.player[line.node]), int(nodes.betting.first_child[line.node])
    for k, (label, word) in enumerate(zip(decision.labels, decision.classes, strict=True)):
        own_reaches, opponent_reach = line.own_reaches, line.opponent_reach
        if actor == player:
            pairs = zip(own_reaches, strategies, strict=True)
            own_reaches = tuple(reach * strategy[:, :, k] for reach, strategy in pairs)
        else:
            opponent_reach = opponent_reach * decision.strategy[:, :, k]
        yield line._replace(
            node=begin + k,
            state=nodes.rules.next(line.state, label),
            course=line.course.after(word, SEATS[actor]),
            own_reaches=own_reaches,
            opponent_reach=opponent_reach,
        )


def _decision(nodes: CardNodes, line: _Line, policy: Policy, player: int) -> SpotDecision:
    """Return a decision of either player; the weight of hands is without their own reach."""
    rules, betting, boards = nodes.rules, nodes.betting, line.boards
    assert isinstance(rules, Spot)
    actor, begin = int(betting.player[line.node]), int(betting.first_child[line.node])
    labels = betting.step[begin : begin + int(betting.children[line.node])]
    classes = tuple(size_class(rules, line.state, label) for label in labels)
    numbers = boards.numbers(nodes, line.node)
    if len(labels) == 1:
        strategy = (boards.lanes[actor] >= 0)[:, :, None].astype(np.float64)
    else:
        strategy = np.where(numbers >= 0, policy.probabilities[numbers], 0.0)
    public = [nodes.number(line.node, board) for board in boards.boards.tolist()]

    def reaches(row: int) -> list[np.ndarray]:
        both = [np.ones(strategy.shape[1]), line.opponent_reach[row]]
        return both if player == 0 else both[::-1]

    @cache
    def find_equity() -> np.ndarray:
        return np.array(
            [equities_at(nodes, node, reaches(row))[player] for row, node in enumerate(public)]
        )

    situations: tuple[HandSituation, ...] = ()
    weight = np.ones(strategy.shape[:2])
    if actor == player:
        street, words = STREETS[line.state.street + 1], ", ".join(line.course.words)
        situations = tuple(
            HandSituation(
                street,
                SEATS[player],
                words,
                line.before,
                board_class("".join(CARDS[card] for card in nodes.cards(node))),
                line.stack,
            )
            for node in public
        )
        weight = np.array(
            [
                nodes.counterfactual_reach(node, player, reaches(row))
                for row, node in enumerate(public)
            ]
        )
    return SpotDecision(
        np.array(public), situations, labels, classes, strategy, weight, numbers, find_equity
    )
