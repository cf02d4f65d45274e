"""Nodes of games of cards, as players of poker see them: the board, the chips, equities, made hands
and draws, and what happens on every card that can come."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import comb
from typing import Any

import numpy as np

from ..analysis.colours import action_colours
from ..analysis.hands import equities_at
from ..compilers.cards.nodes import CardNodes
from ..games.holdem.cards import CARDS
from ..games.holdem.groups import draws, made_hands
from ..model.arrays import CHANCE, TERMINAL
from ..model.game import CompiledGame
from .nodes import MOST_CARDS, HandNodes, SolutionValues, part

MOST_BOARDS = 30_000
"""Boards over which an equity is worked out: more than all flops, fewer than all turns."""
MOST_AT_ONCE = 60_000
"""Boards over which the equities of all next cards together are."""


class CardHandNodes(HandNodes):
    """The public nodes of a game of cards."""

    nodes: CardNodes

    def __init__(self, game: CompiledGame, nodes: CardNodes) -> None:
        super().__init__(game, nodes)
        self.rules = nodes.rules
        self._groups_on = lru_cache(maxsize=200)(self._make_groups)

    @property
    def facts(self) -> dict[str, Any]:  # noqa: D102
        deck = list(map(str, self.rules.cards))
        return super().facts | {"cards": True, "ranges": self.rules.names_ranges, "deck": deck}

    def _stop(self, node: int) -> dict[str, Any]:
        rules, nodes = self.rules, self.nodes
        board = [str(rules.cards[card]) for card in nodes.cards(node)]
        chips = nodes.chips(node)
        betting, (at, _) = nodes.betting, nodes.at(node)
        deals = betting.deals[int(betting.round[at])] if nodes.player(node) == CHANCE else 0
        return {"board": board, "chips": chips and chips._asdict(), "deals": deals}

    def _range(
        self, player: int, node: int, own: list[np.ndarray], joint: list[np.ndarray]
    ) -> list[dict[str, Any]]:
        found = super()._range(player, node, own, joint)
        if (groups := self._groups_on(player, self.nodes.cards(node))) is not None:
            for row, made, draw in zip(found, *groups, strict=True):
                row["made"], row["draw"] = made, draw
        return found

    @cached_property
    def _numbers(self) -> np.ndarray | None:
        """The cards of the deck among those of hold'em, int64 (cards,); None if there are others,
        or if hands have one card."""
        labels = list(map(str, self.rules.cards))
        if not set(labels) <= set(CARDS) or self.rules.hands[0].shape[1] != 2:
            return None
        return np.array([CARDS.index(label) for label in labels], dtype=np.int64)

    def _make_groups(
        self, player: int, board: tuple[int, ...]
    ) -> tuple[list[str], list[str]] | None:
        """The made hand and the draw of each hand of a player; None where they have no names."""
        if self._numbers is None or len(board) < 3:
            return None
        cards, hands = self._numbers[list(board)], self._numbers[self.rules.hands[player]]
        return made_hands(tuple(cards.tolist()), hands), draws(tuple(cards.tolist()), hands)

    # -------------------------------------------------------------------------- what takes longer

    def extras(self, number: int) -> tuple[str, ...]:  # noqa: D102
        player = self._player(number)
        if player != CHANCE:
            return () if player == TERMINAL else ("equity",)
        few = len(self.nodes.children(number)) <= MOST_CARDS
        return ("equity", "runouts") if few else ("equity",)

    def extra(self, name: str, number: int, of: SolutionValues) -> dict[str, Any]:
        """``"equity"``: of all hands of both players at a node, and the means.  ``"runouts"``: at a
        chance node for each card that can come the equities, and how often each action is taken
        next."""
        self._player(number)
        if name == "equity":
            return self._equity(number, of)
        return self._runouts(number, of) if name == "runouts" else super().extra(name, number, of)

    def _equity(self, node: int, of: SolutionValues) -> dict[str, Any]:
        with self._lock:
            own, joint = self._reaches(node, of)
        if self._boards(node) > MOST_BOARDS:
            return {"hands": None, "means": [None, None], "boards": self._boards(node)}
        found = equities_at(self.nodes, node, own)
        hands = [
            dict(zip(np.array(self.nodes.hands[one])[free], equity[free].tolist(), strict=True))
            for one, equity in enumerate(found)
            for free in [self.nodes.free(node, one)]
        ]
        return {"hands": hands, "means": _means(found, joint)}

    def _boards(self, node: int) -> int:
        """In how many ways the board of a node can be completed."""
        left = len(self.rules.cards) - len(self.nodes.cards(node))
        return comb(left, self.nodes.to_deal(node))

    def _runouts(self, node: int, of: SolutionValues) -> dict[str, Any]:
        if self.nodes.player(node) != CHANCE:
            raise ValueError("no card comes at this node")
        steps = self.nodes.children(node)
        if len(steps) > MOST_CARDS:
            raise ValueError(f"{len(steps):,} sets of cards can come")
        cheap = len(steps) * self._boards(steps[0].node) <= MOST_AT_ONCE
        said: dict[str, Any] = {"player": None, "actions": [], "colours": None, "cards": {}}
        for step in steps:
            with self._lock:
                own, joint = self._reaches(step.node, of)
                total = float(joint[0].sum())
                card: dict[str, Any] = {"id": step.node, "p": None, "equity": [None, None]}
                if self.nodes.decides(step.node) and total > 0:
                    layout = self.nodes.layout(step.node)
                    mixed = self._mixed(step.node, joint[layout.player], of)
                    card["p"] = [part(float(one), total) for one in mixed]
                    said["player"], said["actions"] = layout.player, list(layout.actions)
            if cheap and total > 0:
                card["equity"] = _means(equities_at(self.nodes, step.node, own), joint)
            said["cards"][step.label] = card
        said["colours"] = action_colours(said["actions"])
        return said


def _means(equity: tuple[np.ndarray, np.ndarray], joint: list[np.ndarray]) -> list[float | None]:
    """The mean equity of each player's range."""
    found = []
    for own, likely in zip(equity, joint, strict=True):
        here = likely > 0
        found.append(float(own[here] @ likely[here] / likely[here].sum()) if here.any() else None)
    return found
