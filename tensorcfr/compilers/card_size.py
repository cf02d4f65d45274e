"""How large a game of cards is: counted from its betting states, before anything is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..payoff.cards import LANES
from ..rules import CardGame, Deal, Decision
from .card_rules import same_hands
from .card_symmetry import count_alike, moved_hands, permutations_of
from .size import Size

NANOSECONDS_PER_NUMBER = (0.5, 4.0)
"""Of one iteration in single precision, for each sequence and for each hand at a terminal."""


@dataclass(frozen=True)
class CardSize(Size):
    """How large a game of cards is; everything is counted."""

    numbers: int
    """Numbers in each array of a solver."""
    ends: int
    """Hands of both players at the public terminals on all boards."""
    bytes_of_arrays: int
    """Bytes of the arrays of the compiled game, to a few percent."""

    @property
    def bytes_compiled(self) -> tuple[float, float]:
        """Bytes of the compiled game."""
        return float(self.bytes_of_arrays), float(self.bytes_of_arrays)

    @property
    def bytes_compiling(self) -> float:
        """Bytes that compiling takes: parts of the game are there twice while they are joined."""
        return 2.0 * self.bytes_of_arrays

    @property
    def bytes_solving(self) -> float:
        """Bytes that CFR+ takes in addition, in double precision; half of it in single precision
        and a quarter in 16 bits."""
        return 16.0 * self.numbers

    @property
    def seconds_per_iteration(self) -> tuple[float, float]:
        """Seconds of one iteration of CFR+ in single precision on one core of 2020 or later."""
        low, high = (per * (self.numbers + self.ends) * 1e-9 for per in NANOSECONDS_PER_NUMBER)
        return low, high


COLUMNS = ("nodes", "ends", "acts 0", "acts 1", "actions 0", "actions 1", "deals")


def count_states(rules: CardGame) -> np.ndarray:
    """What there is of the betting, int64 (rounds, 7): public nodes, terminals, decisions of either
    player, actions of either player, and nodes where a card is dealt.  Equal states are counted
    once for all, and multiplied."""
    known: dict[Any, list[np.ndarray]] = {}
    root = rules.root()
    stack = [(root, False)]
    after: dict[Any, tuple[list[Any], np.ndarray, bool]] = {}
    while stack:
        state, entered = stack.pop()
        if state in known:
            continue
        if not entered:
            node = rules.node(state)
            own = np.zeros(len(COLUMNS), dtype=np.int64)
            own[0] = 1
            steps: list[Any] = []
            if isinstance(node, Decision):
                steps = [rules.next(state, action) for action in node.actions]
                own[2 + node.player] = 1
                own[4 + node.player] = len(steps)
            elif isinstance(node, Deal):
                steps = [rules.next(state, None)]
                own[6] = 1
            else:
                own[1] = 1
            after[state] = steps, own, isinstance(node, Deal)
            stack.append((state, True))
            stack += [(one, False) for one in steps if one not in known]
            continue
        steps, own, deals = after.pop(state)
        rounds = max([len(known[one]) for one in steps], default=0) + deals
        total = [np.zeros_like(own) for _ in range(max(rounds, 1))]
        total[0] += own
        for one in steps:
            for r, part in enumerate(known[one]):
                total[r + deals] += part
        known[state] = total
    return np.array(known[root])


def card_size(rules: CardGame, name: str, *, symmetric: bool = True) -> CardSize:
    """The size of a game of cards, in milliseconds.

    Args:
        rules: The rules, checked.
        name: What the game is called.
        symmetric: Whether boards and hands that are alike are solved once.

    Raises:
        GameError: The rules give wrong permutations of the cards.
    """
    permutations = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, permutations)
    cards_left = np.setdiff1d(np.arange(len(rules.cards)), rules.board)
    table = count_states(rules)
    final = len(table) - 1
    hands = [len(own) for own in rules.hands]
    width = rules.hands[0].shape[1]
    free = len(rules.cards) - len(rules.board)
    # Pairs without a common card, by cards: all, less those with each card, and the same hands.
    pairs = float(hands[0] * hands[1])
    by_card = [np.bincount(one.ravel(), minlength=len(rules.cards)) for one in rules.hands]
    pairs -= float(by_card[0] @ by_card[1])
    if width == 2:
        pairs += float((same_hands(rules)[0] < hands[1]).sum())
    histories = 1.0 + hands[0]
    infosets = sequences = decisions = terminals = 0.0
    public = numbers = ends = compiled = 0
    for r, row in enumerate(table.tolist()):
        boards = int(np.prod([free - k for k in range(r)], dtype=np.int64))
        dealt = float(np.prod([free - 2 * width - k for k in range(r)]))
        possible = float(np.prod([free - width - k for k in range(r)]))
        nodes, over, *acts, own, other, deals = row
        public += nodes * boards
        histories += nodes * dealt * pairs
        decisions += sum(acts) * dealt * pairs
        terminals += over * dealt * pairs
        in_chunks = r == final > 0
        lanes = [count_alike(permutations, own, cards_left, r) for own in moved]
        # Boards alone: with one thing that no permutation moves.
        solved = count_alike(permutations, np.zeros((len(permutations), 1)), cards_left, r)
        for player, actions in enumerate((own, other)):
            infosets += acts[player] * possible * hands[player]
            sequences += actions * possible * hands[player]
            numbers += actions * lanes[player]
            compiled += 4 * acts[player] * (hands[player] if in_chunks else lanes[player])
        ends += over * sum(lanes)
        groups = -(-over // LANES) * (1 if in_chunks else solved)
        compiled += groups * LANES * 64 + solved * 4 * 3 * sum(hands)
        if r == final - 1:
            entries = deals * sum(
                count_alike(permutations, own, cards_left, r + 1) for own in moved
            )
            numbers += entries
            compiled += 4 * entries
    return CardSize(
        name=name,
        n_players=2,
        histories=histories,
        terminals=terminals,
        decisions=decisions,
        infosets=infosets,
        sequences=sequences + 2,
        public_nodes=public,
        passes=0,
        relative_error=0.0,
        infosets_interval=(infosets, infosets),
        numbers=numbers,
        ends=ends,
        bytes_of_arrays=compiled,
    )
