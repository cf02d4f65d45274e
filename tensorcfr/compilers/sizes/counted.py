"""Size of a game, counted from its public states without unfolding them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from math import factorial, inf, prod
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ..._util.hardware import second_level_cache
from ..._util.limits import CUT_FROM
from ..._util.memory_budget import budget, require, reserve
from ...errors import GameError, MemoryLimitError
from ...model.arrays import TERMINAL
from ...model.chunked_game import Counts
from ...payoff.card_payoffs import (
    CARDS_OF_CODES,
    LANES,
    WIDE_FROM,
    PayoffCards,
    PayoffFiveCards,
    PayoffSubsets,
    numbers_of_code,
    part_for,
)
from ...payoff.card_subsets import n_sets
from ...rules import CardGame, Deal, Decision, Following, PublicTreeGame, Runout, SidePots
from ..cards.card_sums import (
    HandSets,
    KnownBettings,
    all_hands,
    deal_boards,
    live_hands,
    opponent_weight,
    runouts,
    sums_by_card,
    unfold,
    ways,
    without,
)
from ..cards.card_symmetry import count_orbits, moved_hands, permutations_of
from ..compilation import AUTO, Compilation, CutLike
from ..public_checks import checked_prior
from ..public_graph import (
    acting_hands,
    counts_of,
    graph_of,
    hands_of,
    leads_back,
    read_states,
    state_multiplicity,
)
from .size import ChunkCounts, GameSize

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a card game's chunk may take in single
precision.  The scratch holds a reach and a value for every sequence."""
ALL_LINES = 1 << 40
"""Sequence limit for a chunk that contains all lines; larger than any chunk."""
MOST_ENTRIES = 1 << 22
"""Maximum number of entries of chunks behind the trunk of a card game, unless the caller chooses
the cut.  On a flop with 46 million entries, chunks of turns above chunks of rivers save a fifth of
the memory and a tenth of the time."""
BYTES_OF_ENTRY = 12
"""Bytes per payoff of a pair of hands, for one player."""
BYTES_OF_CHUNK = 600
"""Bytes per chunk of a card game, in addition to its hands and entries."""
COMPILING = 1.15
"""Peak memory of compiling into chunks, as a multiple of the compiled game's size."""
COMPILING_CARDS = 3 << 19
"""Bytes that compiling a card game takes in addition, for betting, boards and hands."""
BYTES_OF_WIDE: dict[type[PayoffCards], int] = {PayoffSubsets: 120, PayoffFiveCards: 350}
"""Additional bytes per hand of three or more cards while a game is compiled."""
BYTES_OF_TILES = 240
"""Additional bytes per hand of three or more cards while a game is solved: sixteen lanes of reaches
or values, and the remains of compiling."""
WORK_OF_WIDE: dict[type[PayoffCards], int] = {PayoffSubsets: 8, PayoffFiveCards: 30}
"""Work of a hand of three or more cards at a terminal, as a multiple of a hand of two cards."""
WORK_OF_THREE = 15
"""Work of a hand at a terminal of three players, as a multiple of one of two players."""
BYTES_OF_TERMINAL = 128
"""Bytes per board of a terminal of three players: its sequences and amounts, and its board."""
BYTES_OF_ORDERS = 8 * 3 * 13
"""Additional bytes of such a terminal with payoffs by order."""
WORK_OF_ORDERS = 4
"""Work of such a terminal, as a multiple of one that pays pots."""
BYTES_OF_TRIPLE = 120
"""Bytes per triple of classes of hands while tables of all-ins of three players are computed."""
COMPILING_PAIRS = 68
"""Bytes per pair of hands while payoffs before the first deal are computed pair by pair."""
SHARED = 16
"""Approximate ratio of a solver's numbers to the bytes of a public tree in chunks; chunks share
their shapes."""


def size_of_public_states(rules: PublicTreeGame, compilation: Compilation) -> GameSize:
    """Count the size of a game of private hands from its distinct public states.

    Raises:
        GameError: The rules break their contract, or a history does not end.
        MemoryLimitError: The states need more than the budget.
    """
    name, prior = compilation.name, checked_prior(rules)
    states = read_states(rules, compilation)
    graph, _, _ = graph_of(rules, states, prior)
    if leads_back(graph):
        raise GameError(f"{name}: a public state can be reached from itself; does the game end?")
    # Count in Python integers, because the number of histories may overflow 64 bits.
    ways = state_multiplicity(graph, object)
    counts, sequences = counts_of(graph, ways), acting_hands(graph) * graph.fan
    is_terminal = graph.tables.player == TERMINAL
    # Decisions with one action are removed.
    solved = int(ways @ np.where(graph.fan > 1, sequences, 0))
    ends = int(ways @ np.where(is_terminal, hands_of(graph).sum(axis=0), 0))
    is_two_player = rules.n_players == 2
    chunks = ChunkCounts(solved, 0, 0, ends, solved / SHARED, COMPILING)
    return GameSize(
        name=name,
        n_players=rules.n_players,
        histories=counts.histories,
        terminals=int(ways @ np.where(is_terminal, graph.tables.n_deals, 0)),
        decisions=counts.decision_nodes,
        infosets=counts.infosets,
        sequences=counts.sequences,
        public_nodes=counts.public_nodes if is_two_player else None,
        chunks=chunks if is_two_player else None,
        is_cut=is_two_player and counts.sequences - rules.n_players >= CUT_FROM,
    )


def size_of_cards(
    rules: CardGame,
    name: str,
    *,
    symmetric: bool = True,
    cut: int | None = None,
    betting: BettingCounts | None = None,
) -> GameSize:
    """Return the size of a card game.

    Args:
        rules: The rules, checked.
        name: The name of the game.
        symmetric: Whether equivalent boards and hands are solved once.
        cut: The deal after which chunks begin; None for the default from :func:`deal_to_cut_at`.
        betting: The counts from :func:`count_betting`, if they are known.

    Raises:
        GameError: The rules give wrong permutations of the cards.
    """
    permutations = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, permutations)
    betting = betting or count_betting(rules, name)
    table, deals, is_whole = betting
    final = len(deals)
    first = deal_to_cut_at(rules, name, betting, symmetric=symmetric) if cut is None else cut
    hands = [len(player_hands) for player_hands in rules.hands]
    numbers = trunk = entries = ends = compiled = 0
    width, is_of_three = rules.hands[0].shape[1], len(hands) > 2
    wide, part = width >= WIDE_FROM, part_for(width)
    # An upper bound: folds and rounds without a showdown have one ranking.
    rankings = rules.rankings
    work = rankings * (WORK_OF_WIDE[part] if wide else WORK_OF_THREE if is_of_three else 1)
    bytes_of_terminal = BYTES_OF_TERMINAL
    if is_of_three and rules.pays_by_order:
        work *= WORK_OF_ORDERS
        bytes_of_terminal += BYTES_OF_ORDERS
    beside = max(COMPILING_CARDS, BYTES_OF_NODE * int(table[:, 0].sum()), rules.bytes_made)
    beside += BYTES_OF_WIDE[part] * sum(hands) if wide else 0
    scratch = 0
    if wide:
        # Evaluations have sums in double precision.
        sums = n_sets(len(rules.cards) + 2, CARDS_OF_CODES[part])
        scratch = BYTES_OF_TILES * sum(hands) + 8 * LANES * sums
    for r, row in enumerate(table.tolist()):
        n_terminals, dealt = row[1], row[DEALS]
        acts, actions = row[2 : 2 + len(hands)], row[2 + len(hands) : DEALS]
        in_chunks = r >= first > 0
        lanes = [count_solved(rules, permutations, images, deals[:r]) for images in moved]
        # Count boards without hands: pair each board with one object that all permutations
        # preserve.
        solved = count_solved(rules, permutations, np.zeros((len(permutations), 1)), deals[:r])
        for player, player_actions in enumerate(actions):
            numbers += player_actions * lanes[player]
            if in_chunks and 0 < player < len(hands) - 1:
                # Entries of a player between others have unused numbers.
                numbers += int(table[r - 1, DEALS]) * lanes[player]
            trunk += 0 if in_chunks else player_actions * lanes[player]
            compiled += 4 * acts[player] * (hands[player] if in_chunks else lanes[player])
        ends += n_terminals * sum(lanes) * work
        if is_of_three:
            # Order, levels and their ends: at most as many levels as hands.
            copies = rankings if in_chunks else rankings * solved
            compiled += copies * n_terminals * bytes_of_terminal
            compiled += rankings * solved * 40 * sum(hands)
        else:
            groups = rankings * -(-n_terminals // LANES) * (1 if in_chunks else solved)
            compiled += groups * LANES * 64
            compiled += rankings * solved * 4 * 3 * sum(hands) * numbers_of_code(width)
        compiled += solved * 16 * sum(hands) * rules.weights_vary
        if in_chunks:
            lines = int(table[r - 1, DEALS])
            sequences = sum(map(mul, actions, hands)) + lines * sum(hands)
            parts = -(-sequences // sequences_of_chunk(rules)) if r == final else 1
            compiled += solved * (BYTES_OF_CHUNK * parts + 2 * 3 * 4 * lines)
        if r == first - 1:
            entries = dealt * sum(
                count_solved(rules, permutations, images, deals[:first]) for images in moved
            )
        if is_of_three and (tables := len(hands) * row[RUNOUTS]):
            # Tables over triples of classes, and the shares of all orders.
            ends += tables * prod(lanes)
            compiled += 8 * tables * prod(lanes)
            beside += BYTES_OF_TRIPLE * prod(lanes)
        elif r == 0 and (rules.boards or table[0, RUNOUTS]):
            compiled += 2 * BYTES_OF_ENTRY * n_terminals * lanes[0] * lanes[1]
            beside += COMPILING_PAIRS * hands[0] * hands[1]
    counts = count_cards(rules, table, deals)
    return GameSize(
        name=name,
        n_players=rules.n_players,
        histories=counts.histories,
        terminals=int(table[:, 1] @ _pairs(rules, deals)),
        decisions=counts.decision_nodes,
        infosets=counts.infosets,
        sequences=counts.sequences,
        public_nodes=counts.public_nodes,
        relative_error=0.0 if is_whole else inf,
        chunks=ChunkCounts(
            numbers, trunk, entries, ends, float(compiled), COMPILING, beside, scratch
        ),
        is_cut=True,
        is_whole=is_whole,
    )


def check_memory(rules: CardGame, name: str, limit: int | None) -> None:
    """Check that the arrays of hands x hands of a card game fit the memory.

    Args:
        rules: The rules.
        name: The name of the game.
        limit: Memory limit in bytes; None for the free memory.

    Raises:
        MemoryLimitError: The memory does not suffice; the message gives both amounts.
    """
    with budget(f"laying out {name} hand by hand", limit):
        count_betting(rules, name, is_compiled=True)
        betting = unfold(rules, name)
    boards = sum(len(of_round.cards) for of_round in deal_boards(rules, betting))
    needed = 8 * 4 * boards * prod(map(len, rules.hands))
    require(needed, f"laying out {name} hand by hand", limit)


def deal_to_cut_at(
    rules: CardGame,
    name: str,
    betting: BettingCounts,
    *,
    symmetric: bool = True,
    cut: CutLike = AUTO,
) -> int:
    """Return the deal after which chunks begin.

    By default it is the last deal after which chunks have at most :data:`MOST_ENTRIES` entries, or
    the first deal if there is none.  ``cut`` may name another deal, or be True for the last one.
    The result is 0 if no cards are dealt.  The other arguments are those of :func:`size_of_cards`.

    Raises:
        ValueError: There is no such deal to cut at.
    """
    deals = betting.deals
    if not deals:
        return 0
    if cut is True:
        return len(deals)
    if cut != AUTO:
        if isinstance(cut, bool) or not isinstance(cut, int) or not 1 <= cut <= len(deals) + 1:
            raise ValueError(
                f"{name} is cut where cards are dealt: cut must be the number of a deal, 1 to "
                f"{len(deals)}, or {len(deals) + 1} for no chunks, not {cut!r}"
            )
        return cut
    permutations = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, permutations)
    table, first = betting.table, len(deals)
    while first > 1:
        lanes = [count_solved(rules, permutations, images, deals[:first]) for images in moved]
        if int(table[first - 1, DEALS]) * sum(lanes) <= MOST_ENTRIES:
            break
        first -= 1
    return first


def sequences_of_chunk(rules: CardGame) -> int:
    """Return the maximum number of sequences in a card game's chunk with several lines.

    The number depends on the cache of this machine.  With hands of three or more cards, the sums
    over sets of cards fill the cache anyway.  Then a chunk has all lines, so that most groups of
    terminals have all lanes.
    """
    if rules.hands[0].shape[1] >= WIDE_FROM:
        return ALL_LINES
    return int(second_level_cache() * CACHE_SHARE) // 8


DEALS, RUNOUTS = -2, -1
"""Columns of counts of deals and of runouts; see :class:`BettingCounts`."""
AT_ONCE = 1 << 13
"""Number of public states that are counted between two checks of memory and clock."""
BYTES_OF_STATE = 800
"""Bytes of scratch per public state that is counted."""
COPIES = 6
"""Number of arrays, as large as the states of a level, that are needed to combine equal states."""
BYTES_OF_NODE = 540
"""Bytes per public node while the betting is unfolded."""
LONGEST_ROUND = 1_000
"""Maximum number of actions of a line between two deals."""
LOOK_FROM = 1 << 12
"""Number of public nodes from which on their memory is reserved."""
MOST_NODES = 10**200
"""Number of public nodes at which counting stops, because sizes must also fit a float."""
EXACT = 1 << 60
"""Largest sum of line counts that is computed in 64 bits."""


class BettingCounts(NamedTuple):
    """Counts of the betting of a card game."""

    table: np.ndarray
    """Python integers (rounds, 4 + 2 * players): public nodes, terminals, decisions of each player,
    actions of each player, nodes where cards are dealt, and nodes where they are run out."""
    deals: tuple[int, ...]
    """Number of cards of each deal, in order."""
    is_whole: bool = True
    """True if the count is complete; otherwise the time was over, and the true numbers are
    larger."""


_COUNTS = KnownBettings[BettingCounts]()


def count_betting(
    rules: CardGame, name: str, *, is_compiled: bool = False, seconds: float = inf
) -> BettingCounts:
    """Count the betting of a card game, level by level.

    A level consists of the public states with equally many actions after the last deal.  Equal
    states of a level are combined, with the number of lines that lead there.

    Args:
        rules: The rules.
        name: The name of the game.
        is_compiled: Whether the public nodes are unfolded afterwards, so that they must fit the
            memory.  Otherwise counting stops early if it takes too much memory.
        seconds: Processor time after which counting stops early.

    Raises:
        GameError: Some lines deal different numbers of cards, or have more than
            :data:`LONGEST_ROUND` actions between two deals.
        MemoryLimitError: Counting, or the public nodes, would take more than the budget.
    """
    if (known := _COUNTS.find(rules)) is not None:
        return known
    counted = _Counted(rules, name, is_compiled, time.thread_time() + seconds)
    try:
        is_whole = counted.run()
    except MemoryLimitError:
        if is_compiled:
            raise
        is_whole = False
    table = np.array(counted.table)
    counts = BettingCounts(table, tuple(counted.deals), is_whole)
    return _COUNTS.keep(rules, counts, table[:, 0].sum()) if is_whole else counts


@dataclass
class _Counted:
    """Betting of a card game that is being counted."""

    rules: CardGame
    name: str
    is_compiled: bool
    until: float
    """Processor time of this thread at which counting ends."""

    def __post_init__(self) -> None:
        self.table: list[np.ndarray] = []
        self.deals: list[int] = []

    def run(self) -> bool:
        """Count all rounds, and return whether the time sufficed."""
        states = self.rules.rows() or _Numbered(self.rules)
        level: _Level = states.root(), np.ones(1, dtype=np.int64)
        while len(level[0]):
            self.table.append(np.zeros(columns_of(self.rules), dtype=object))
            dealt, cards = list[_Level](), set[int]()
            for _ in range(LONGEST_ROUND):
                after = list[_Level]()
                for begin in range(0, len(level[0]), AT_ONCE):
                    rows, lines = (column[begin : begin + AT_ONCE] for column in level)
                    reserve(BYTES_OF_STATE * len(rows))
                    following = states.after(rows)
                    self.table[-1] += _product(lines, following.counts)
                    if not self._look():
                        return False
                    lines, deal = lines[following.parent], following.dealt
                    after.append((following.rows[~deal], lines[~deal]))
                    if deal.any():
                        dealt.append((following.rows[deal], lines[deal]))
                        cards |= following.cards
                level = _combine_equal(after)
                if not len(level[0]):
                    break
            else:
                raise GameError(
                    f"{self.name}: a round of betting has lines of more than {LONGEST_ROUND:,} "
                    "actions; give larger sizes or fewer raises"
                )
            if len(cards) > 1:
                raise GameError(f"{self.name}: some lines deal more cards at once than others")
            if dealt:
                self.deals += cards
                level = _combine_equal(dealt)
        return True

    def _look(self) -> bool:
        """Reserve memory for the public nodes so far, and return whether there is time left.

        Raises:
            MemoryLimitError: The public nodes would take more than the budget.
        """
        nodes = sum(int(row[0]) for row in self.table)
        if self.is_compiled and nodes > LOOK_FROM:
            what = f"compiling {self.name} (more than {nodes:,} public nodes)"
            reserve(nodes * BYTES_OF_NODE, what)
        return time.thread_time() < self.until and nodes < MOST_NODES


def columns_of(rules: CardGame) -> int:
    """Return the number of columns of counts; see :class:`BettingCounts`."""
    return 4 + 2 * rules.n_players


_Level = tuple[np.ndarray, np.ndarray]
"""Rows of public states, and the number of lines that lead to each."""


class _Numbered:
    """Public states of any card game, as rows of one number each."""

    def __init__(self, rules: CardGame) -> None:
        self.rules = rules
        self._numbers: dict[Any, int] = {}
        self._states: list[Any] = []

    def _number(self, state: Any) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
            if not number % AT_ONCE:
                reserve(0)
        return number

    def root(self) -> np.ndarray:
        return np.array([[self._number(self.rules.root())]])

    def after(self, rows: np.ndarray) -> Following:
        players = self.rules.n_players
        counts = np.zeros((len(rows), columns_of(self.rules)), dtype=np.int64)
        counts[:, 0] = 1
        edges: list[tuple[int, int, bool]] = []
        cards: set[int] = set()
        for k, number in enumerate(rows[:, 0].tolist()):
            state = self._states[number]
            node = self.rules.node(state)
            if isinstance(node, Decision):
                after = [self.rules.next(state, action) for action in node.actions]
                if node.player in range(players):  # Otherwise unfolding raises an error.
                    counts[k, 2 + node.player] = 1
                    counts[k, 2 + players + node.player] = len(after)
                edges += [(k, self._number(child), False) for child in after]
            elif isinstance(node, Deal):
                counts[k, DEALS] = 1
                edges.append((k, self._number(self.rules.next(state, None)), True))
                cards.add(node.cards)
            else:
                runs = isinstance(node, Runout) or (isinstance(node, SidePots) and node.cards > 0)
                counts[k, 1], counts[k, RUNOUTS] = 1, runs
        parent, following, dealt = np.array(edges, dtype=np.int64).reshape(-1, 3).T
        return Following(counts, parent, following[:, None], dealt > 0, frozenset(cards))


def _product(lines: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sum counts over lines, as Python integers (columns,)."""
    if int(counts.max()) * _largest(lines) * len(lines) < EXACT:
        return (lines @ counts).astype(object)
    sums: np.ndarray = lines.astype(object) @ counts
    return sums


def _largest(lines: np.ndarray) -> int:
    return int(lines.max(initial=0))


def _combine_equal(levels: list[_Level]) -> _Level:
    """Combine equal states, and add up the lines that lead to them."""
    size = sum(rows.nbytes for rows, _ in levels)
    reserve(COPIES * size)
    rows = np.concatenate([rows for rows, _ in levels])
    lines = np.concatenate([lines for _, lines in levels])
    if not len(rows):
        return rows, lines
    if _largest(lines) * len(lines) >= EXACT:
        lines = lines.astype(object)
    # If all columns fit one 64-bit key, sorting by that key is faster than a lexicographic sort.
    low = rows.min(axis=0)
    spans = [int(span) + 1 for span in rows.max(axis=0) - low]
    if prod(spans) < 1 << 62:
        radix = np.array([prod(spans[k + 1 :]) for k in range(len(spans))], dtype=np.int64)
        key = (rows - low) @ radix
        order = np.argsort(key, kind="stable")
        is_new = np.diff(key[order]) != 0
    else:
        order = np.lexsort(rows.T)
        is_new = (np.diff(rows[order], axis=0) != 0).any(axis=1)
    first = np.flatnonzero(np.concatenate([[True], is_new]))
    return rows[order[first]], np.add.reduceat(lines[order], first)


def count_cards(rules: CardGame, table: np.ndarray, deals: tuple[int, ...]) -> Counts:
    """Count a card game on all boards.

    Args:
        rules: The rules, checked.
        table: The table from :func:`count_betting`.
        deals: Number of cards of each deal, in order.
    """
    free = len(rules.free)
    pairs = _pairs(rules, deals)
    dealt = [deals[:r] for r in range(len(table))]
    players = range(rules.n_players)
    nodes, acts = table[:, 0], table[:, 2 : 2 + len(players)]
    actions = table[:, 2 + len(players) : DEALS]
    possible = np.array(
        [[_possible(rules, before, player) for player in players] for before in dealt], dtype=object
    )
    return Counts(
        player_infosets=tuple(map(int, (acts * possible).sum(axis=0))),
        sequences=int((actions * possible).sum()) + len(players),
        histories=1 + _partial_deals(rules) + int(nodes @ pairs),
        decision_nodes=int(acts.sum(axis=1) @ pairs),
        public_nodes=int(nodes @ [_boards(rules, free, before) for before in dealt]),
    )


def _partial_deals(rules: CardGame) -> int:
    """Count the hands of some of the players, player 0 first, that leave hands for the others."""
    count = int((opponent_weight(all_hands(rules), 0) > 0).sum())
    if rules.n_players == 2:
        return count
    for hand in rules.hands[0]:
        # Hands of player 1 that leave a hand for player 2, next to this hand of player 0.
        live = [without(hands, hand).astype(np.float64) for hands in rules.hands[1:]]
        remaining = opponent_weight(HandSets(rules.cards, rules.hands[1:], live), 0)
        count += int(((remaining > 0) & (live[0] > 0)).sum())
    return count


def _boards(rules: CardGame, free: int, deals: tuple[int, ...]) -> int:
    """Count the ways to deal several sets of cards in turn to the board, of ``deals`` cards
    each."""
    if not rules.boards or not deals:
        return ways(free, deals)
    return len(rules.boards) * ways(free - deals[0], deals[1:])


def count_solved(
    rules: CardGame, permutations: np.ndarray, moved: np.ndarray, deals: tuple[int, ...]
) -> int:
    """Count pairs of a board and a hand after ``deals``, with equivalent pairs counted once.

    Args:
        rules: The rules.
        permutations: int64 (permutations, cards): image of each card.
        moved: int64 (permutations, hands): image of each hand, or of any other objects.
        deals: Number of cards of each deal, in order.
    """
    free = rules.free
    if not rules.boards or not deals:
        return count_orbits(permutations, moved, free, deals)
    total = 0
    for cards in map(list, rules.boards):
        images = np.sort(permutations[:, cards], axis=1).tolist()
        if min(images) == cards:
            # This board is the first of its orbit.  ``preserving`` are the permutations that
            # preserve it.
            preserving = [k for k, image in enumerate(images) if image == cards]
            remaining = np.setdiff1d(free, cards)
            total += count_orbits(permutations[preserving], moved[preserving], remaining, deals[1:])
    return total


def _pairs(rules: CardGame, deals: tuple[int, ...]) -> list[int]:
    """Return the number of deals of hands and boards that reach a node of each round."""
    pairs = int(opponent_weight(all_hands(rules), 0).sum())
    if not rules.boards:
        return [pairs * runouts(rules, deals[:r]) for r in range(len(deals) + 1)]
    # Sum over the boards the pairs of hands that share no card with the board.
    disjoint_pairs = 0
    for cards in rules.boards:
        live = live_hands(rules, np.array(cards))
        disjoint_pairs += int(opponent_weight(live, 0) @ live.weights[0])
    first_deals = runouts(rules, deals[:1])
    return [
        pairs,
        *(
            disjoint_pairs * (runouts(rules, deals[:r]) // first_deals)
            for r in range(1, len(deals) + 1)
        ),
    ]


def _possible(rules: CardGame, deals: tuple[int, ...], player: int) -> int:
    """Count pairs of a board after ``deals`` and a hand of a player that some hands of the other
    players allow."""
    hands, r = rules.hands, sum(deals)
    if rules.boards and deals:
        after = len(rules.free) - deals[0] - hands[0].shape[1]
        fitting = sum(int(without(hands[player], np.array(cards)).sum()) for cards in rules.boards)
        return fitting * ways(after, deals[1:])
    allowed = opponent_weight(all_hands(rules), player)
    is_allowed = allowed > 0
    total = int(is_allowed.sum()) * ways(len(rules.free) - hands[0].shape[1], deals)
    if not total or not r:
        return total
    # Subtract the boards that share a card with every remaining hand of another player.  Few
    # boards can: the hands with each of their cards must together be as many as those that remain.
    # Of two other players, pairs of their hands are counted.
    by_card = np.zeros(len(rules.cards))
    for opponent, opponent_hands in enumerate(hands):
        if opponent != player:
            others = [len(h) for p, h in enumerate(hands) if p not in (player, opponent)]
            by_card += prod(others) * sums_by_card(rules, opponent, np.ones(len(opponent_hands)))
    fewest = allowed[is_allowed].min()
    if r * by_card.max() < fewest:
        return total
    blocked = 0
    # The order of the cards does not matter, so count sets of cards, and multiply by their orders
    # below.
    for board in combinations(rules.free, r):
        cards = np.array(board)
        if by_card[cards].sum() < fewest:
            continue
        live = live_hands(rules, cards)
        remaining = opponent_weight(live, player)
        blocked += int(((remaining <= 0) & (live.weights[player] > 0) & is_allowed).sum())
    return total - blocked * factorial(r) // prod(map(factorial, deals))
