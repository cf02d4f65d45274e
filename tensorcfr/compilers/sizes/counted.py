"""What there is of a game, counted from its public states without unfolding them."""

from __future__ import annotations

from itertools import combinations
from math import factorial, prod
from typing import Any

import numpy as np

from ..._util.limits import CUT_FROM
from ..._util.machine import second_level_cache
from ..._util.memory import Budget
from ...errors import GameError
from ...model.arrays import TERMINAL
from ...model.cut_game import Counts
from ...payoff.cards import LANES, WIDE_FROM
from ...rules import CardGame, Deal, Decision, PublicTreeGame, Runout
from .. import public_tree
from ..cards.rules import Weighted, runouts, sums_by_card, ways, weight_met, without
from ..cards.symmetry import count_alike, moved_hands, permutations_of
from ..public_checks import checked_prior
from ..public_states import (
    acting_hands,
    count_ways,
    counts_of,
    hands_of,
    leads_back,
)
from .size import Chunks, Size

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a chunk of a game of cards may take in single
precision: a reach and a value for every sequence."""
ALL_LINES = 1 << 40
"""Sequences of a chunk that is to have all lines."""
MOST_ENTRIES = 1 << 22
"""Entries of chunks behind the trunk of a game of cards, at most, unless it is cut by hand: on a
flop with 46 million of them, chunks of turns over those of rivers save a fifth of the memory and a
tenth of the time."""
BYTES_OF_ENTRY = 12
"""Of a payoff of a pair of hands, for one player."""
BYTES_OF_CHUNK = 600
"""What is kept of each chunk of a game of cards apart from its hands and entries."""
COMPILING = 1.15
"""What compiling into chunks takes at most, in sizes of the compiled game."""
COMPILING_CARDS = 3 << 19
"""Bytes that compiling a game of cards takes in addition, for betting, boards and hands."""
BYTES_OF_WIDE = 120
"""Bytes that a hand of three or four cards takes in addition, while a game is compiled."""
BYTES_OF_TILES = 240
"""Bytes that a hand of three or four cards takes in addition, while a game is solved: sixteen lanes
of reaches or values, and what compiling leaves behind."""
WORK_OF_WIDE = 8
"""How many times the work of a hand of two cards one of three or four is at a terminal."""
COMPILING_PAIRS = 68
"""Bytes of a pair of hands while payoffs before the first deal are worked out pair by pair."""
SHARED = 16
"""Numbers of a solver for each byte of a public tree in chunks, about: its shapes are shared."""


def size_of_public_states(rules: PublicTreeGame, name: str, budget: Budget) -> Size:
    """The size of a game of private hands, from its distinct public states.

    Raises:
        GameError: The rules break their contract, or a history does not end.
        MemoryLimitError: The states need more than the budget.
    """
    prior = checked_prior(rules)
    states = public_tree.walk_states(rules, budget)
    graph, _, _ = public_tree.graph_of(rules, states, prior)
    if leads_back(graph):
        raise GameError(f"{name}: a public state comes after itself, does the game end?")
    # Python's numbers: there may be more histories than 64 bits count.
    ways = count_ways(graph, object)
    counts, own = counts_of(graph, ways), acting_hands(graph) * graph.fan
    over = graph.tables.player == TERMINAL
    solved = int(ways @ np.where(graph.fan > 1, own, 0))  # The others are left out.
    ends = int(ways @ np.where(over, hands_of(graph).sum(axis=0), 0))
    two = rules.n_players == 2
    chunks = Chunks(solved, 0, 0, ends, solved / SHARED, COMPILING)
    return Size(
        name=name,
        n_players=rules.n_players,
        histories=counts.histories,
        terminals=int(ways @ np.where(over, graph.tables.n_deals, 0)),
        decisions=counts.decision_nodes,
        infosets=counts.infosets,
        sequences=counts.sequences,
        public_nodes=counts.public_nodes if two else None,
        chunks=chunks if two else None,
        is_cut=two and counts.sequences - rules.n_players >= CUT_FROM,
    )


def size_of_cards(
    rules: CardGame, name: str, *, symmetric: bool = True, cut: int | None = None
) -> Size:
    """The size of a game of cards, in milliseconds.

    Args:
        rules: The rules, checked.
        name: What the game is called.
        symmetric: Whether boards and hands that are alike are solved once.
        cut: The deal after which chunks begin; None for that of :func:`deal_to_cut_at`.

    Raises:
        GameError: The rules give wrong permutations of the cards.
    """
    permutations = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, permutations)
    table, deals = count_betting(rules, name)
    final = len(deals)
    first = deal_to_cut_at(rules, name, symmetric=symmetric) if cut is None else cut
    hands = [len(own) for own in rules.hands]
    numbers = trunk = entries = ends = compiled = 0
    wide = rules.hands[0].shape[1] >= WIDE_FROM
    beside = COMPILING_CARDS + (BYTES_OF_WIDE * sum(hands) if wide else 0)
    scratch = BYTES_OF_TILES * sum(hands) if wide else 0
    for r, (_, over, *acts, own, other, dealt, _) in enumerate(table.tolist()):
        in_chunks = r >= first > 0
        lanes = [count_solved(rules, permutations, own, deals[:r]) for own in moved]
        # Boards alone: with one thing that no permutation moves.
        solved = count_solved(rules, permutations, np.zeros((len(permutations), 1)), deals[:r])
        for player, actions in enumerate((own, other)):
            numbers += actions * lanes[player]
            trunk += 0 if in_chunks else actions * lanes[player]
            compiled += 4 * acts[player] * (hands[player] if in_chunks else lanes[player])
        ends += over * sum(lanes) * (WORK_OF_WIDE if wide else 1)
        groups = -(-over // LANES) * (1 if in_chunks else solved)
        compiled += groups * LANES * 64 + solved * 4 * 3 * sum(hands) * (2 if wide else 1)
        compiled += solved * 16 * sum(hands) * rules.weights_vary
        if in_chunks:
            lines = int(table[r - 1, DEALS])
            sequences = own * hands[0] + other * hands[1] + lines * sum(hands)
            parts = -(-sequences // sequences_of_chunk(rules)) if r == final else 1
            compiled += solved * (BYTES_OF_CHUNK * parts + 2 * 3 * 4 * lines)
        if r == first - 1:
            entries = dealt * sum(
                count_solved(rules, permutations, own, deals[:first]) for own in moved
            )
        if r == 0 and (rules.boards or table[0, RUNOUTS]):
            compiled += 2 * BYTES_OF_ENTRY * over * lanes[0] * lanes[1]
            beside += COMPILING_PAIRS * hands[0] * hands[1]
    counts = count_cards(rules, table, deals)
    return Size(
        name=name,
        n_players=2,
        histories=counts.histories,
        terminals=int(table[:, 1] @ _pairs(rules, deals)),
        decisions=counts.decision_nodes,
        infosets=counts.infosets,
        sequences=counts.sequences,
        public_nodes=counts.public_nodes,
        chunks=Chunks(numbers, trunk, entries, ends, float(compiled), COMPILING, beside, scratch),
        is_cut=True,
    )


def deal_to_cut_at(rules: CardGame, name: str, *, symmetric: bool = True) -> int:
    """The last deal after which chunks have at most :data:`MOST_ENTRIES` entries, or the first one;
    0 where no cards are dealt.  Arguments as for :func:`size_of_cards`."""
    permutations = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, permutations)
    table, deals = count_betting(rules, name)
    first = len(deals)
    while first > 1:
        lanes = [count_solved(rules, permutations, own, deals[:first]) for own in moved]
        if int(table[first - 1, DEALS]) * sum(lanes) <= MOST_ENTRIES:
            break
        first -= 1
    return first


def sequences_of_chunk(rules: CardGame) -> int:
    """Sequences that a chunk of a game of cards may have on this machine, if it has several
    lines.  With hands of three or four cards the sums of sets of cards fill the cache, and a chunk
    has all lines: then most groups of terminals have all lanes."""
    if rules.hands[0].shape[1] >= WIDE_FROM:
        return ALL_LINES
    return int(second_level_cache() * CACHE_SHARE) // 8


COLUMNS = ("nodes", "ends", "acts 0", "acts 1", "actions 0", "actions 1", "deals", "runouts")
DEALS, RUNOUTS = COLUMNS.index("deals"), COLUMNS.index("runouts")


def count_betting(rules: CardGame, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """What there is of the betting.  Equal states are counted once for all, and multiplied.

    Returns:
        Python's numbers (rounds, 8): public nodes, terminals, decisions of either player, actions
        of either player, nodes where cards are dealt, and where they are run out; and how many
        cards are dealt for the first time, for the second time, ...

    Raises:
        GameError: Some lines deal other numbers of cards.
    """
    known: dict[Any, list[np.ndarray]] = {}
    dealt_after: dict[Any, tuple[int, ...]] = {}
    root = rules.root()
    stack = [(root, False)]
    after: dict[Any, tuple[list[Any], np.ndarray, int]] = {}
    while stack:
        state, entered = stack.pop()
        if state in known:
            continue
        if not entered:
            node = rules.node(state)
            own = np.zeros(len(COLUMNS), dtype=object)
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
                own[1], own[7] = 1, int(isinstance(node, Runout))
            after[state] = steps, own, node.cards if isinstance(node, Deal) else 0
            stack.append((state, True))
            stack += [(one, False) for one in steps if one not in known]
            continue
        steps, own, dealt = after.pop(state)
        deals = int(dealt > 0)
        longest = max((dealt_after[one] for one in steps), key=len, default=())
        if any(dealt_after[one] != longest[: len(dealt_after[one])] for one in steps):
            raise GameError(f"{name}: some lines deal more cards at once than others")
        dealt_after[state] = (dealt,) * deals + longest
        rounds = max([len(known[one]) for one in steps], default=0) + deals
        total = [np.zeros_like(own) for _ in range(max(rounds, 1))]
        total[0] += own
        for one in steps:
            for r, part in enumerate(known[one]):
                total[r + deals] += part
        known[state] = total
    return np.array(known[root]), dealt_after[root]


def count_cards(rules: CardGame, table: np.ndarray, deals: tuple[int, ...]) -> Counts:
    """What there is of a game of cards on all boards.

    Args:
        rules: The rules, checked.
        table: What :func:`count_betting` found.
        deals: Likewise.
    """
    free = len(rules.free)
    pairs = _pairs(rules, deals)
    dealt = [deals[:r] for r in range(len(table))]
    nodes, _, *acts, first, second, _, _ = table.T
    possible = [[_possible(rules, before, player) for before in dealt] for player in range(2)]
    ones = Weighted(rules, [np.ones(len(own)) for own in rules.hands])
    return Counts(
        player_infosets=(int(acts[0] @ possible[0]), int(acts[1] @ possible[1])),
        sequences=int(first @ possible[0] + second @ possible[1]) + 2,
        histories=1 + int((weight_met(ones, 0) > 0).sum()) + int(nodes @ pairs),
        decision_nodes=int((acts[0] + acts[1]) @ pairs),
        public_nodes=int(nodes @ [_boards(rules, free, before) for before in dealt]),
    )


def _boards(rules: CardGame, free: int, deals: tuple[int, ...]) -> int:
    """In how many ways so many of some free cards can be dealt one time after the other."""
    if not rules.boards or not deals:
        return ways(free, deals)
    return len(rules.boards) * ways(free - deals[0], deals[1:])


def count_solved(
    rules: CardGame, permutations: np.ndarray, moved: np.ndarray, deals: tuple[int, ...]
) -> int:
    """:func:`count_alike` of the boards that can be dealt."""
    free = rules.free
    if not rules.boards or not deals:
        return count_alike(permutations, moved, free, deals)
    found = 0
    for cards in map(list, rules.boards):
        made = np.sort(permutations[:, cards], axis=1).tolist()
        if min(made) == cards:
            # The first of those that are alike; these permutations leave it.
            kept = [k for k, own in enumerate(made) if own == cards]
            left = np.setdiff1d(free, cards)
            found += count_alike(permutations[kept], moved[kept], left, deals[1:])
    return found


def _pairs(rules: CardGame, deals: tuple[int, ...]) -> list[int]:
    """The deals of hands and boards that get to a node of each round."""
    ones = Weighted(rules, [np.ones(len(own)) for own in rules.hands])
    pairs = int(weight_met(ones, 0).sum())
    if not rules.boards:
        return [pairs * runouts(rules, deals[:r]) for r in range(len(deals) + 1)]
    # On each board the pairs that leave it.
    here = 0
    for cards in rules.boards:
        live = [without(own, np.array(cards)).astype(np.float64) for own in rules.hands]
        here += int(weight_met(Weighted(rules, live), 0) @ live[0])
    left = runouts(rules, deals[:1])
    return [pairs, *(here * (runouts(rules, deals[:r]) // left) for r in range(1, len(deals) + 1))]


def _possible(rules: CardGame, deals: tuple[int, ...], player: int) -> int:
    """How many pairs of a board, after so many cards were dealt one time after the other, and a
    hand of a player there are, where the other player has a hand that goes with them."""
    hands, r = rules.hands, sum(deals)
    met = weight_met(Weighted(rules, [np.ones(len(own)) for own in hands]), player)
    ones = np.ones(len(hands[1 - player]))
    if rules.boards and deals:
        after = len(rules.free) - deals[0] - hands[0].shape[1]
        here = sum(int(without(hands[player], np.array(cards)).sum()) for cards in rules.boards)
        return here * ways(after, deals[1:])
    if met.min(initial=np.inf) > r * sums_by_card(rules, 1 - player, ones).max():
        # Cards on the board cannot take all hands from the other player.
        return len(met) * ways(len(rules.free) - hands[0].shape[1], deals)
    found = 0
    # The order in which cards come does not matter.
    for dealt in combinations(rules.free, r):
        live = [without(own, np.array(dealt)).astype(np.float64) for own in hands]
        found += int(((weight_met(Weighted(rules, live), player) > 0) & (live[player] > 0)).sum())
    return found * factorial(r) // prod(map(factorial, deals))
