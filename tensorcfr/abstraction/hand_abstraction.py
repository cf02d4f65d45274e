"""Abstraction by buckets of private hands, the same on all boards or different on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Flag, Kind, brief, checked
from ..compilers.flat_compiler import assemble
from ..compilers.symmetry import quotient_by
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled
from ..model.labels import PublicGame
from ..rules import PublicTreeGame
from .abstract_game import AbstractGame
from .infoset_abstraction import abstract_game, from_buckets, name_of

Buckets = np.ndarray | Sequence[Any]
"""Buckets of a player's hands: integers or texts, (hands,) or (boards, hands)."""
PAIR = Kind((list, tuple), "a list of the buckets of each player")


@checked()
def abstract_hands(
    game: Compiled,
    buckets: Annotated[Sequence[Buckets | None], PAIR],
    *,
    imperfect_recall: Annotated[bool, Flag()] = False,
) -> AbstractGame:
    """Make an abstraction in which the hands of a bucket share one strategy.

    With one row of buckets for all boards, the result is again a game of private hands and a public
    tree. Chance deals buckets, and payoffs are means over their hands, so compiling and solving are
    fast. With a row for each board, players see the bucket of their hand on that board. They forget
    nothing if the buckets are *nested*: the buckets on a board subdivide those on the board before.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.abstraction import buckets_by_label
    >>> leduc = compile_game("leduc")
    >>> ranks = abstract_hands(leduc, buckets_by_label(leduc, lambda hand: hand[0]))
    >>> ranks.public.hands[0]
    ('J', 'K', 'Q')

    Args:
        game: A game of private hands between two players; a game in chunks is made flat first.
        buckets: For each player integers or texts, (hands,), in the order of ``game.public.hands``;
            or (boards, hands), in the order of :func:`board_names`; or None, for hands as they are.
        imperfect_recall: Whether players may forget buckets; see :func:`abstract`.

    Raises:
        ValueError: The game has no private hands, or buckets have the wrong shape or type; names
            the player.
        ImperfectRecallError: Buckets on a board are not nested, and ``imperfect_recall`` is False.
        MemoryLimitError: There is not enough memory to lay out the full game hand by hand, or for
            the payoffs of the abstraction.
    """
    return replace(
        _of_hands(game.flat(), buckets, imperfect_recall=imperfect_recall), original=game
    )


def _of_hands(
    game: FlatGame, buckets: Sequence[Buckets | None], *, imperfect_recall: bool
) -> AbstractGame:
    public = public_of(game)
    if len(buckets) != 2:
        raise ValueError(f"buckets must have one entry for each of 2 players, not {len(buckets)}")
    boards = None
    rows: list[np.ndarray] = []
    for player, player_buckets in enumerate(buckets):
        if player_buckets is None:
            rows.append(np.array([public.hands[player]]))
            continue
        try:
            array = np.asarray(player_buckets)
        except ValueError:
            raise ValueError(
                f"buckets[{player}] is not an array: {brief(player_buckets)}"
            ) from None
        if array.ndim == 2 and boards is None:
            boards = boards_of(public)
        rows.append(_read_buckets(game, public, player, array, boards))
    if all(len(player_rows) == 1 for player_rows in rows):
        return _of_all_boards(game, public, [player_rows[0] for player_rows in rows])
    boards = boards or boards_of(public)
    return from_buckets(game, _names(game, public, boards, rows), imperfect_recall=imperfect_recall)


def board_names(game: CompiledGame) -> tuple[str, ...]:
    """Return the names of the boards of a game of private hands.

    A name lists the outcomes of public chance so far, separated by spaces. The first name is empty,
    and a board follows the one that it extends. A game in chunks is made flat first.

    Raises:
        ValueError: The game has no private hands.
    """
    return boards_of(public_of(game.flat())).names


class PublicBoards(NamedTuple):
    """Boards of a public tree."""

    names: tuple[str, ...]
    """Outcomes of public chance so far, separated by spaces."""
    parent: np.ndarray
    """int64 (boards,): board before the last outcome; -1 for the first."""
    of_node: np.ndarray
    """int64 (public nodes,): board at each node."""


def boards_of(public: PublicGame) -> PublicBoards:
    """Enumerate the boards of a public tree."""
    tree = public.tree
    known: dict[tuple[int, int], int] = {}
    names, parent, board_of_node = [""], [-1], [0] * tree.n_nodes
    parents, edges, is_deal = tree.parent.tolist(), tree.edge.tolist(), (tree.chance >= 0).tolist()
    # Parents have smaller numbers than their children, so the parent's board is known.
    for node in range(1, tree.n_nodes):
        board = board_of_node[parents[node]]
        if is_deal[node]:
            key = board, edges[node]
            if key not in known:
                known[key] = len(names)
                names.append(f"{names[board]} {public.edges[edges[node]]}".strip())
                parent.append(board)
            board = known[key]
        board_of_node[node] = board
    return PublicBoards(tuple(names), np.array(parent), np.array(board_of_node, dtype=np.int64))


def public_of(game: FlatGame) -> PublicGame:
    """Return the public tree of a game.

    Raises:
        ValueError: The game has no public tree, or another number of players than two.
    """
    if game.public is None or game.n_players != 2:
        raise ValueError(
            f"{game.name} is not a game of private hands between two players: "
            "abstract(game, infosets=...) takes any game"
        )
    return game.public


def _read_buckets(
    game: FlatGame,
    public: PublicGame,
    player: int,
    array: np.ndarray,
    boards: PublicBoards | None,
) -> np.ndarray:
    """Return the names of a player's buckets, str (1 or boards, hands)."""
    hands = len(public.hands[player])
    shapes = [(hands,)] + ([(len(boards.names), hands)] if boards is not None else [])
    if array.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ValueError(
            f"buckets[{player}] has the shape {array.shape}; {game.name} needs {wanted}, the "
            f"hands of player {player}" + (", on each board" if boards is not None else "")
        )
    if array.dtype.kind not in "iuU":
        raise ValueError(
            f"buckets[{player}] must be whole numbers or texts, not {array.dtype}: {brief(array)}"
        )
    if array.dtype.kind != "U":
        # Zero padding makes names sort as the numbers do.
        width = len(str(int(np.abs(array).max())))
        array = np.array([f"b{number:0{width}d}" for number in array.ravel().tolist()]).reshape(
            array.shape
        )
    return np.atleast_2d(array)


def _of_all_boards(game: FlatGame, public: PublicGame, buckets: list[np.ndarray]) -> AbstractGame:
    """Make the abstraction whose hands are the buckets, which are the same on all boards."""
    tree = public.tree
    numbered = [np.unique(player_buckets, return_inverse=True) for player_buckets in buckets]
    exists = tree.exists
    kept_nodes = np.flatnonzero(exists)
    representative = np.where(exists, np.arange(tree.n_nodes), -1)
    colours = [number for _, number in numbered]
    small = quotient_by(tree, colours, representative, kept_nodes)
    rules = PublicTreeGame()
    rules.hands = [tuple(names.tolist()) for names, _ in numbered]
    labels = public.node_labels
    smaller = PublicGame(
        small.tree,
        tuple(tuple(map(str, hands)) for hands in rules.hands),
        public.edges,
        None if labels is None else tuple(labels[node] for node in kept_nodes.tolist()),
    )
    compiled = assemble(rules, smaller, name_of(game), unit=game.unit, symmetry=True)
    infoset = np.empty(game.form.n_infosets, dtype=np.int64)
    for infosets, nodes, hand, player in _infosets(game, public):
        infoset[infosets] = compiled.places.infosets(
            small.node[nodes], np.full(len(nodes), colours[player][hand])
        )
    return abstract_game(compiled, game, infoset)


def _names(
    game: FlatGame, public: PublicGame, boards: PublicBoards, rows: list[np.ndarray]
) -> list[str]:
    """Return the name of the bucket of every infoset."""
    names = [""] * game.form.n_infosets
    deciding = np.flatnonzero(public.tree.bucket >= 0)
    labels = {node: public.node_label(node) for node in deciding.tolist()}
    for infosets, nodes, hand, player in _infosets(game, public):
        player_rows = rows[player]
        row = (
            boards.of_node[nodes] if len(player_rows) > 1 else np.zeros(len(nodes), dtype=np.int64)
        )
        for infoset, node, bucket in zip(
            infosets.tolist(), nodes.tolist(), player_rows[row, hand].tolist(), strict=True
        ):
            names[infoset] = f"{bucket}{labels[node]}"
    return names


def _infosets(game: FlatGame, public: PublicGame) -> list[tuple[np.ndarray, np.ndarray, int, int]]:
    """Return the infosets by player and hand.

    Returns:
        For each player and hand: the infosets, int64 (infosets,), their public nodes, int64
            (infosets,), the hand and the player.
    """
    tree, form = public.tree, game.form
    deciding = np.flatnonzero(tree.bucket >= 0)
    mask = form.bucket_mask[tree.bucket[deciding]]
    groups = []
    for player, hands in enumerate(public.hands):
        is_acting = tree.player[deciding] == player
        for hand in range(len(hands)):
            # ``hand_rank`` counts the possible hands below each hand: it grows at a possible hand.
            possible = form.hand_rank[mask, hand + 1] > form.hand_rank[mask, hand]
            nodes = deciding[is_acting & possible]
            infosets = game.places.infosets(nodes, np.full(len(nodes), hand))
            groups.append((infosets, nodes, hand, player))
    return groups
