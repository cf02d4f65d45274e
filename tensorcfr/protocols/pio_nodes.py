"""Public nodes of a spot, named as in PioSOLVER: ``r:0:c:b50:c:7s``.

``r:0`` is the first decision.  A step is ``c`` for a check or call, ``b50`` for a bet or raise with
which the player has put in 50 chips since the start, ``f`` for a fold, or a card.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from ..compilers.cards.card_public_nodes import CardNodes
from ..formats.piosolver import Line
from ..games.holdem import Holdem
from ..games.poker.betting import CALL, CHECK, FOLD, StreetState
from ..games.poker.deck import HAND_NUMBER, HANDS, hand_label
from ..games.poker.ranges import PIOSOLVER_ORDER
from ..model.arrays import CHANCE
from ..model.compiled_game import CompiledGame

ROOT, FIRST = "r", "r:0"
"""Names of the root, and of the first decision below it."""
TYPES = ("OOP_DEC", "IP_DEC")
"""Types of decisions, by player."""
HAND_ORDER = tuple(hand_label(HANDS[row]) for row in PIOSOLVER_ORDER.tolist())
"""Hands in the order of all lists of 1,326 numbers."""


class PioNode(NamedTuple):
    """Public node by its PioSOLVER name."""

    name: str
    node: int
    """Number of the public node."""
    line: str
    """Labels of the steps, separated by spaces."""
    state: StreetState
    """State of the betting."""


@dataclass(frozen=True)
class PioNodes:
    """Public nodes of a spot of hold'em.

    Args:
        game: The compiled spot.

    Raises:
        ValueError: The game is not a spot of hold'em.
    """

    game: CompiledGame

    def __post_init__(self) -> None:
        if not isinstance(self.game.nodes, CardNodes) or not isinstance(self.rules, Holdem):
            raise ValueError(f"{self.game.name} is not a spot of hold'em")

    @property
    def nodes(self) -> CardNodes:
        """Public nodes of the game."""
        return CardNodes.of_two(self.game)

    @property
    def rules(self) -> Any:
        """Rules of the spot."""
        return self.nodes.rules

    @property
    def first(self) -> PioNode:
        """First decision."""
        return PioNode(FIRST, 0, "", self.rules.root())

    def find(self, name: str) -> PioNode:
        """Return the node with a name; for ``r`` the first decision.

        Raises:
            ValueError: There is no such node.
        """
        steps, place = name.split(":"), self.first
        if steps != [ROOT]:
            if steps[:2] != [ROOT, "0"]:
                raise ValueError(f"there is no node {brief(name)}: names begin with {FIRST}")
            for step in steps[2:]:
                matches = (
                    child for child in self.children(place) if child.name.endswith(":" + step)
                )
                child = next(matches, None)
                if child is None:
                    raise ValueError(
                        f"there is no node {brief(name)}: no {step!r} after {place.name}"
                    )
                place = child
        return place

    def children(self, parent: PioNode) -> list[PioNode]:
        """Return the nodes after a node: bets from the largest, then check or call, then fold."""
        if self.is_over(parent):
            return []
        edges, acts = self.nodes.children(parent.node), self.nodes.player(parent.node) >= 0
        return [
            PioNode(
                f"{parent.name}:{self._step(edge.label, parent.state) if acts else edge.label}",
                edge.node,
                f"{parent.line} {edge.label}".strip(),
                self.rules.next(parent.state, edge.label if acts else None),
            )
            for edge in (reversed(edges) if acts else edges)
        ]

    def is_over(self, place: PioNode) -> bool:
        """Return whether the players have no decision after a node: a terminal, or a called
        all-in."""
        player, paid = self.nodes.player(place.node), self.rules.betting.paid(place.state)
        return player < 0 and (player != CHANCE or paid[0] == paid[1] == self.rules.betting.stack)

    def _step(self, label: str, state: StreetState) -> str:
        """Return the step of an action."""
        if label in (CHECK, CALL):
            return "c"
        if label == FOLD:
            return "f"
        amount = state.put + self.rules.betting.raised_to(state, label)
        return f"b{self.rules.betting.format_chips(amount)}"

    def describe(self, place: PioNode) -> list[str]:
        """Return the lines that describe a node: name, type, board, pot, children and flags."""
        player, betting = self.nodes.player(place.node), self.rules.betting
        kind = "END_NODE" if self.is_over(place) else "SPLIT_NODE"
        amounts = [betting.format_chips(n) for n in (*betting.paid(place.state), betting.pot)]
        return [
            place.name,
            TYPES[player] if player >= 0 else kind,
            " ".join(str(self.rules.cards[card]) for card in self.nodes.cards(place.node)),
            " ".join(amounts),
            f"{len(self.children(place))} children",
            "flags: PIO_CFR" if player >= 0 else "flags:",
        ]

    def _in_order(self) -> Iterator[tuple[str, Line, list[PioNode]]]:
        """Yield name, amounts after each action and children of all nodes, parents first."""
        stack: list[tuple[PioNode, str, Line]] = [(self.first, FIRST, ())]
        while stack:
            place, name, line = stack.pop()
            children = self.children(place)
            if children and self.nodes.player(place.node) == CHANCE:
                # The betting is the same after every card.
                children = self.children(children[0])
            yield name, line, children
            for child in reversed(children):
                amount = max(self.rules.betting.paid(child.state)) * self.rules.betting.chip
                step = child.name.rpartition(":")[2]
                stack.append((child, f"{name}:{step}", (*line, amount)))

    def names(self) -> Iterator[str]:
        """Yield the names of all nodes without their cards."""
        yield ROOT
        yield from (name for name, _, _ in self._in_order())

    def lines(self) -> dict[Line, None]:
        """Return the lines of the tree, as ``add_line`` takes them."""
        return {
            line: None
            for name, line, children in self._in_order()
            if not children and not name.endswith(":f")
        }

    def spread(self, player: int, of_hands: np.ndarray, missing: float = 0.0) -> np.ndarray:
        """Return numbers of a player's hands as 1,326 numbers in PioSOLVER's order.

        Args:
            player: The player.
            of_hands: float64 (hands,): the numbers.
            missing: Number of the hands that the player cannot have.
        """
        cards = np.sort(self.rules.hands[player], axis=1)[:, ::-1]
        rows = [HAND_NUMBER[first, second] for first, second in cards.tolist()]
        of_all = np.full(len(HANDS), missing)
        of_all[rows] = of_hands
        return of_all[PIOSOLVER_ORDER]
