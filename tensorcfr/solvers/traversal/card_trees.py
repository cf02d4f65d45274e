"""Traversal trees of card games: the betting, with hands and a board that are drawn first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import cast

import numpy as np

from ..._util.limits import INDEX_LIMIT
from ...compilers.cards.card_public_nodes import CardNodes
from ...errors import GameError
from ...kernels.alias import make_alias_tables
from ...kernels.traversal import CARD_NODE, NO_BLOCK, NO_RANK, CardTree
from ...model.arrays import CHANCE, TERMINAL
from ...model.card_structure import DEAL, DECISION, FOLD, RUNOUT, SHOWDOWN, code_of, orders_of
from ...model.compiled_game import CompiledGame
from .table_layout import TableLayout, node_records, tree_depth

WORD = 64
"""Cards per word of :attr:`~tensorcfr.kernels.traversal.CardTree.cards`."""
LEAST_ACCEPTED = 1e-3
"""Smallest share of draws of hands and a board that have no common card."""


def card_traversal(game: CompiledGame, layout: TableLayout) -> CardTree:
    """Create the traversal tree for traversals that draw the hands and the board first.

    Args:
        game: The card game.
        layout: Layout of the blocks of its infosets.

    Raises:
        ValueError: The game cannot be sampled; see :func:`card_tree`.
        GameError: The table is too large for indices of 32 bits.
    """
    if layout.size > INDEX_LIMIT:
        raise GameError(
            f"{game.name} is too large to be sampled: its table has {layout.size:,} numbers"
        )
    nodes = cast(CardNodes, game.nodes)
    blocks = _first_blocks(nodes, layout)
    return card_tree(nodes, blocks, header=layout.header, groups=3 + layout.extra)


def card_tree(
    nodes: CardNodes, blocks: Sequence[np.ndarray], *, header: int, groups: int
) -> CardTree:
    """Create a traversal tree from the blocks of its infosets.

    Args:
        nodes: Public nodes of the card game.
        blocks: For each decision of the betting int64 (boards,): block of the first class of hands
            on each board.
        header: Length of the header of a block.
        groups: Groups of numbers in a block.

    Raises:
        ValueError: Weights of hands depend on the board, a line ends in a runout, or nearly all
            draws of hands and a board have a common card.
    """
    betting, symmetry, players = nodes.betting, nodes.symmetry, nodes.rules.n_players
    rankings = nodes.rules.rankings
    group, weight, cards = _outcomes(nodes)
    _check(nodes, float(np.prod(np.add.reduceat(weight, group[:-1]))))
    # Children are contiguous, in the order of their parents.
    first_child = np.append(1, 1 + np.cumsum(betting.children))
    # Each combination of the orders in all rankings pays the mean of the payoffs of these orders.
    codes, per_ranking = code_of(orders_of(players).T), 3 ** (players * (players - 1) // 2)
    combined = np.array(list(product(range(len(codes)), repeat=rankings)))
    order = np.zeros(per_ranking**rankings, np.uint32)
    order[codes[combined] @ per_ranking ** np.arange(rankings)[::-1]] = np.arange(len(combined))
    threshold, alias = np.empty(len(weight)), np.empty(len(weight), np.uint32)
    make_alias_tables(group, weight, threshold, alias)
    board, rank = _boards(nodes)
    actions = betting.children[betting.kind == DECISION]
    return CardTree(
        node=_nodes(nodes, first_child, [*map(len, blocks)]),
        amount=betting.amounts[betting.kind >= FOLD][:, combined].mean(axis=2),
        depth=tree_depth(first_child),
        width=int(actions.max(initial=1)),
        blocks=int((actions > 1).sum()),
        entries=betting.n_nodes,
        visits_once=True,
        dealt=players,
        drawn=players + len(nodes.boards) * (players + 2),
        probability=np.empty(0),
        group=group.astype(np.uint32),
        outcome=np.stack([np.arange(len(alias), dtype=np.uint32), alias], axis=1),
        threshold=threshold,
        cards=cards,
        first_board=np.cumsum([0, *(len(of.parent) for of in nodes.boards[:-1])], dtype=np.uint32),
        board=board,
        image=np.stack([_filled(hands, nodes) for hands in zip(*symmetry.hands, strict=True)]),
        lane=np.stack(
            [_filled([classes.of_hand for classes in both], nodes) for both in symmetry.played]
        ),
        rank=rank,
        order=order,
        first_block=np.concatenate([np.empty(0, np.int64), *blocks]).astype(np.uint32),
        header=header,
        groups=groups,
    )


def _check(nodes: CardNodes, drawn: float) -> None:
    """Check that a card game can be sampled; see :func:`card_tree`.

    Args:
        nodes: Public nodes of the card game.
        drawn: Total weight of all draws of hands and a board, with common cards or without.
    """
    name = nodes.name_of_game
    if nodes.rules.weights_vary:
        raise ValueError(f"{name}: hands whose weights depend on the board cannot be sampled")
    if (nodes.betting.kind == RUNOUT).any():
        raise ValueError(f"{name}: lines that end in a Runout, without a board, cannot be sampled")
    accepted = 1.0 / (nodes.dealing.share(nodes.betting.rounds) * drawn)
    if accepted < LEAST_ACCEPTED:
        raise ValueError(
            f"{name}: only {accepted:.1e} of all draws of hands and a board have no common card, "
            f"and sampling needs {LEAST_ACCEPTED}"
        )


def _nodes(nodes: CardNodes, first_child: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Create the nodes, :data:`CARD_NODE` (nodes,).

    Args:
        nodes: Public nodes of the card game.
        first_child: int64 (nodes + 1,): first child of each node of the betting.
        sizes: Number of boards of each decision.
    """
    betting = nodes.betting
    player = np.where(betting.kind == DEAL, CHANCE, betting.player)
    terminal, decides = betting.kind >= FOLD, betting.kind == DECISION
    player[terminal] = TERMINAL
    node = node_records(player, first_child, CARD_NODE)
    block = np.cumsum(sizes, dtype=np.int64) - sizes
    node["block"][decides] = np.where(betting.children[decides] > 1, block, int(NO_BLOCK))
    node["payoff"][terminal] = np.arange(terminal.sum())
    node["round"] = betting.round
    return node


def _outcomes(nodes: CardNodes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the hands of each player and the boards of the last round.

    Returns:
        int64 (players + 2,): first outcome of each player, of the boards, and their number; float64
        (outcomes,): weights; uint64 (outcomes, words): cards as bits.
    """
    rules, boards = nodes.rules, nodes.boards[-1].cards
    sets = [*rules.hands, boards]
    weights = [*rules.weights, nodes.dealing.weights(boards)]
    bits = np.zeros((sum(map(len, sets)), -(-len(rules.cards) // WORD)), np.uint64)
    group = np.cumsum([0, *map(len, sets)])
    for first, cards in zip(group.tolist(), sets, strict=False):
        for column in cards.T:
            row = first + np.arange(len(cards))
            bits[row, column // WORD] |= np.uint64(1) << (column % WORD).astype(np.uint64)
    return group, np.concatenate(weights), bits


def _boards(nodes: CardNodes) -> tuple[np.ndarray, np.ndarray]:
    """Return :attr:`CardTree.board` and :attr:`CardTree.rank`."""
    betting, rules = nodes.betting, nodes.rules
    shape = rules.rankings, rules.n_players, max(map(len, rules.hands))
    rows, ranks = [], [np.empty((0, *shape), np.uint32)]
    shows, ranked = {*betting.round[betting.kind == SHOWDOWN].tolist()}, 0
    for r, (all_boards, of_round) in enumerate(
        zip(nodes.boards, nodes.symmetry.rounds, strict=True)
    ):
        rank = np.full(len(of_round.board), int(NO_RANK))
        if r in shows:
            rank = ranked + np.arange(len(of_round.board))
            ranked += len(rank)
            ranks += [_ranks(nodes, all_boards.cards[board])[None] for board in of_round.board]
        solved = of_round.of_board
        kind = of_round.played[solved]
        columns = all_boards.parent, solved, of_round.permutation, kind, rank[solved]
        rows.append(np.stack(columns, axis=1).astype(np.uint32))
    return np.concatenate(rows), np.concatenate(ranks)


def _ranks(nodes: CardNodes, dealt: np.ndarray) -> np.ndarray:
    """Rank the strengths of the hands of all players on a board, uint32 (rankings, players, most
    hands)."""
    rules = nodes.rules
    board = (*rules.board, *dealt.tolist())
    live = [np.flatnonzero(~np.isin(hands, board).any(axis=1)) for hands in rules.hands]
    strengths = [
        rules.strengths(board, h[which]) for h, which in zip(rules.hands, live, strict=True)
    ]
    filled = np.zeros((rules.rankings, rules.n_players, max(map(len, rules.hands))), np.uint32)
    ends = np.cumsum([*map(len, live)])[:-1]
    for in_ranking, together in zip(filled, np.concatenate(strengths, axis=1), strict=True):
        rank = np.unique(together, return_inverse=True)[1].reshape(-1)
        for row, which, numbers in zip(in_ranking, live, np.split(rank, ends), strict=True):
            row[which] = numbers
    return filled


def _filled(of_hands: Sequence[np.ndarray], nodes: CardNodes) -> np.ndarray:
    """Stack numbers of each player's hands, uint32 (players, most hands)."""
    stacked = np.zeros((len(of_hands), max(map(len, nodes.rules.hands))), np.uint32)
    for row, numbers in zip(stacked, of_hands, strict=True):
        row[: len(numbers)] = numbers
    return stacked


def _first_blocks(nodes: CardNodes, layout: TableLayout) -> list[np.ndarray]:
    """Return the block of the first class of hands, for each decision int64 (solved boards,)."""
    first_number = layout.buckets[0]
    order = np.argsort(first_number)
    blocks = []
    for node in np.flatnonzero(nodes.betting.kind == DECISION).tolist():
        boards = nodes.symmetry.rounds[nodes.betting.round[node]].board
        numbers = nodes.first_numbers(node, np.arange(len(boards)))
        bucket = order[np.searchsorted(first_number[order], numbers, side="right") - 1]
        blocks.append(layout.first[bucket] + (numbers - first_number[bucket]) * layout.step[bucket])
    return blocks


def bytes_of_cards(nodes: CardNodes) -> int:
    """Compute the bytes of the tree of a card game, without the table."""
    boards = [len(of_round.parent) for of_round in nodes.boards]
    solved = np.array([len(of_round.board) for of_round in nodes.symmetry.rounds])
    betting, rules = nodes.betting, nodes.rules
    shows = np.unique(betting.round[betting.kind == SHOWDOWN])
    kinds = len(nodes.symmetry.cards) + len(nodes.symmetry.played)
    kinds += rules.rankings * int(solved[shows].sum())
    by_hand = 4 * rules.n_players * max(map(len, rules.hands)) * kinds
    outcomes = sum(map(len, rules.hands)) + boards[-1]
    per_outcome = 32 + 8 * -(-len(rules.cards) // WORD)
    blocks = 4 * int(solved[betting.round[betting.kind == DECISION]].sum())
    orders, players = betting.amounts[0].shape
    per_node = CARD_NODE.itemsize + 8 * players * orders**rules.rankings
    return by_hand + 20 * sum(boards) + per_outcome * outcomes + blocks + per_node * betting.n_nodes
