"""Prices of decisions in a solved spot, kept with the solution in a folder."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._util.files import replacing
from ..analysis.policy_values import Values
from ..compilers import compile_game
from ..errors import GameError
from ..games.poker.spot import Spot
from ..model.arrays import CHANCE, TERMINAL
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .played_hands import BOARD_CARDS, PlayedDecision
from .situations import HandSituation, situations
from .spot_decisions import nodes_of_spot, size_of
from .spots_of_hands import POT, HandInSpot, SpotError, card_key, moved_card


class PricedDecision(NamedTuple):
    """Decision of a player with its cost."""

    source: str
    """File of the hand."""
    number: int
    """Number of the hand in the file."""
    player: str
    """Name of the player."""
    situation: HandSituation
    """Situation, without the course before, the stack and the board."""
    action: str
    """Class of the action."""
    cards: str
    """Hole cards of the player."""
    best: str
    """Label of the best action in the spot."""
    frequency: float
    """Probability of the action with this hand in the solution."""
    cost: float
    """Value of the best action minus that of this one, in chips of the hand."""
    big_blind: float
    """Chips of the big blind."""
    currency: str
    """Currency of the chips; empty for play money or a tournament."""


WITHOUT_EFFECT = ("threads", "memory_limit")
"""Options of a solve that do not change its solution."""


class StoredSpot:
    """A spot with its solution and prices, kept in a folder.

    Args:
        folder: The folder, or None to keep nothing.
        text: The spot.
        target: Exploitability of the solution.
        options: Other options of the solve.
    """

    def __init__(
        self, folder: Path | None, text: str, target: Any, options: Mapping[str, Any]
    ) -> None:
        self._spot = text
        kept = sorted(str(item) for item in options.items() if item[0] not in WITHOUT_EFFECT)
        settings = json.dumps([text, str(target), kept])
        self._digest = hashlib.sha256(settings.encode()).hexdigest()[:24]
        self._folder, self._target, self._options = folder, target, options

    def _path(self, ending: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{self._digest}.{ending}"

    @property
    def is_solved(self) -> bool:
        """True if the folder has the solution."""
        path = self._path("npz")
        return path is not None and path.exists()

    def solution(self) -> Solution:
        """Return the solution, solved now if the folder does not have it.

        Raises:
            SpotError: A range has no hand on the board.
        """
        path = self._path("npz")
        if path is not None and path.exists():
            return Solution.load(path)
        options = json.loads(self._spot)
        try:
            game = compile_game(options.pop("game"), **options)
        except GameError as error:
            if "has no hand on" in str(error):
                raise SpotError("a range has no hand on this board") from None
            raise
        solution = solve(game, target=self._target, **self._options)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            solution.save(path, force=True)
        return solution

    def priced(
        self, members: Sequence[HandInSpot], players: Collection[str] | None
    ) -> dict[str, Any]:
        """Return the priced decisions of hands in this spot, and the luck of their boards."""
        names = None if players is None else sorted(players)
        hands = [member.hand for member in members]
        key = repr([(h.source, h.index, h.currency, h.rules) for h in hands] + [names])
        digest = hashlib.sha256(key.encode()).hexdigest()
        path = self._path("json")
        if path is not None and path.exists() and self.is_solved:
            known = json.loads(path.read_bytes())
            if known["digest"] == digest:
                return dict(known)
        priced = _price(self.solution(), members, players) | {"digest": digest}
        if path is not None:
            with replacing(path) as file:
                file.write(json.dumps(priced).encode())
        return priced


def _price(
    solution: Solution, members: Sequence[HandInSpot], players: Collection[str] | None
) -> dict[str, Any]:
    nodes = nodes_of_spot(solution.game)
    assert isinstance(nodes.rules, Spot)
    values, unpriced = Values(solution.policy), Counter[str]()
    number_of = [
        {tuple(sorted(hand)): k for k, hand in enumerate(hands.tolist())}
        for hands in nodes.rules.hands
    ]
    decisions: list[Any] = []
    luck: list[Any] = []
    for member in members:
        hand = member.hand
        held = [
            _held(member, seat, numbers)
            for seat, numbers in zip(member.seats, number_of, strict=True)
        ]
        watched = [players is None or hand.players[seat] in players for seat in member.seats]
        for side, number in enumerate(held):
            if watched[side] and isinstance(number, str):
                unpriced[f"hand: {number}"] += 1
        path, problem = [0], ""
        try:
            for node, index, label, after in _steps(nodes, member):
                path.append(after)
                if index is None:
                    continue
                side = nodes.player(node)
                number = held[side]
                if watched[side] and not isinstance(number, str):
                    row = _priced(values, node, label, number, member, index)
                    if row is None:
                        unpriced["decision: the solution never gets there"] += 1
                    else:
                        decisions.append(row)
        except SpotError as error:
            problem = str(error)
            unpriced[f"decision: {problem}"] += 1
        for side, seat in enumerate(member.seats):
            number = held[side]
            if watched[side] and not isinstance(number, str):
                hand_of_opponent = held[1 - side]
                opponent = None if isinstance(hand_of_opponent, str) else hand_of_opponent
                amount = luck_of_board(values, path, side, number, opponent) * member.pot / POT
                blind = float(hand.min_bet)
                luck.append([hand.source, hand.index, hand.players[seat], amount / blind])
    exploitability = solution.exploitability / POT
    return {
        "decisions": decisions,
        "unpriced": dict(unpriced),
        "luck": luck,
        "exploitability": exploitability,
    }


def _held(member: HandInSpot, seat: int, numbers: Mapping[tuple[int, ...], int]) -> int | str:
    """Return the number of the hand that a player holds, or the reason why it has none."""
    text = member.hand.cards[seat]
    if not text:
        return "the hole cards are unknown"
    cards = [card_key(text[k : k + 2], member.suits) for k in range(0, len(text), 2)]
    return numbers.get(tuple(sorted(cards)), "the hole cards are not in the range")


def _steps(nodes: Any, member: HandInSpot) -> Iterator[tuple[int, int | None, str, int]]:
    """Yield each public node of a hand in its spot, the index of the decision there (None for a
    card), the label of the step, and the node after it.
    """
    hand, node = member.hand, 0
    state = nodes.rules.root()
    dealt = BOARD_CARDS[hand.decisions[member.first].street]
    pending = list(range(member.first, len(hand.decisions)))
    while True:
        actor = nodes.player(node)
        edges = nodes.children(node)
        if actor == TERMINAL or not edges:
            return
        if actor == CHANCE:
            card = hand.board[2 * dealt : 2 * dealt + 2]
            if not card:
                return
            dealt += 1
            label = moved_card(card, member.suits)
            step: tuple[int | None, Any] = (None, None)
        else:
            if not pending:
                return
            index = pending.pop(0)
            label = _nearest(nodes.rules, state, [e.label for e in edges], hand.decisions[index])
            step = (index, label)
        after = next(edge.node for edge in edges if edge.label == label)
        yield node, step[0], label, after
        node = after
        state = nodes.rules.next(state, step[1])


def _nearest(rules: Spot, state: Any, labels: Sequence[str], decision: PlayedDecision) -> str:
    """Return the label of the action of a spot that is nearest to a decision."""
    if decision.action in labels:
        return decision.action
    sizes = {label: size_of(rules, state, label)[1] for label in labels}
    sizes = {label: share for label, share in sizes.items() if share > 0.0}
    if decision.action in ("bet", "raise") and sizes:
        if decision.is_all_in and "allin" in sizes:
            return "allin"
        share = math.log1p(2.0 * decision.share)
        return min(sizes, key=lambda label: abs(math.log1p(2.0 * sizes[label]) - share))
    raise SpotError(f"the spot has no {decision.action} here")


def _priced(
    values: Values, node: int, label: str, hand_number: int, member: HandInSpot, index: int
) -> list[Any] | None:
    """Return the fields of a priced decision; None if the solution never gets there."""
    actions, hand = values.of_hand(node, hand_number), member.hand
    if actions is None or np.isnan(actions.expected).any():
        return None
    decision = hand.decisions[index]
    _, situation, word = list(situations(hand))[index]
    lost = values.game.round_to_zero(actions.loss(label))
    return [
        hand.source,
        hand.index,
        hand.players[decision.seat],
        list(situation.levels[-1]),
        word,
        hand.cards[decision.seat],
        actions.best,
        float(actions.probability[actions.actions.index(label)]),
        lost * member.pot / POT,
        float(hand.min_bet),
        hand.currency,
    ]


def luck_of_board(
    values: Values, path: Sequence[int], player: int, hand: int, opponent: int | None
) -> float:
    """Return the luck of a player with the cards of the board, in chips of the spot.

    At each card it is the value of the solution after this card minus the mean over all cards.  The
    mean has the probabilities of the cards given both hands; if the opponent's is unknown, given
    this hand and the opponent's range in the solution.
    """
    nodes, total = values.nodes, 0.0
    for node, after in pairwise(path):
        if nodes.player(node) != CHANCE:
            continue
        edges = nodes.children(node)
        reaches = values.own_reaches(node)
        reach = [nodes.counterfactual_reach(edge.node, player, reaches)[hand] for edge in edges]
        worth = [
            values.counterfactual_values(edge.node, player, reaches)[0][hand] for edge in edges
        ]
        expected = np.divide(worth, reach, out=np.zeros(len(edges)), where=np.array(reach) > 0)
        if opponent is None:
            chances = np.array(reach) / max(sum(reach), 1e-300)
        else:
            pair = [hand, opponent] if player == 0 else [opponent, hand]
            chances = nodes.outcomes(node, np.array([pair]))[0]
        place = next(k for k, edge in enumerate(edges) if edge.node == after)
        total += float(expected[place] - chances @ expected)
    return total
