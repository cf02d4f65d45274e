"""One malformed game in chunks per line K of ``docs/reference/invariants.md``, with its error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomSuits
from tensorcfr import compile_game
from tensorcfr.compilers.cards import card_compiler as card_game
from tensorcfr.compilers.cut import cut_compiler as cut_chunks
from tensorcfr.compilers.invariants import all_invariants, check_chunks
from tensorcfr.errors import InvariantError
from tensorcfr.model.chunked_form import ChunkedForm, Entered, pass_order_of

LEDUC = 2186
"""Sequences of Leduc, as tests/games/test_games.py counts them: 1,093 of each player."""


@cache
def leduc() -> ChunkedForm:
    """Leduc after two public steps, where each subtree is a chunk."""
    return compile_game("leduc", cut=2, symmetry=False).chunks


@cache
def cut_twice() -> ChunkedForm:
    """Leduc after two public steps, and again after four."""
    return compile_game("leduc", cut=(2, 4), symmetry=False).chunks


@cache
def suits() -> ChunkedForm:
    """A game of cards with several boards of equal structure."""
    rules = RandomSuits(2, ranks=3, suits=3, width=1, rounds=2, public=(0,))
    return compile_game(rules).chunks


Change = Callable[[ChunkedForm], ChunkedForm]


def put(name: str, *at: Any, to: Any) -> Change:
    """One number of an array over chunks, changed."""

    def change(game: ChunkedForm) -> ChunkedForm:
        array = getattr(game, name).copy()
        array[at] = to
        return game._replace(**{name: array})

    return change


def whole(name: str, of: Callable[[np.ndarray], np.ndarray]) -> Change:
    """An array over chunks, replaced."""
    return lambda game: game._replace(**{name: of(getattr(game, name))})


def of_trunk(name: str, *at: Any, to: Any) -> Change:
    """One number of an array of the trunk, changed."""

    def change(game: ChunkedForm) -> ChunkedForm:
        array = getattr(game.trunk, name).copy()
        array[at] = to
        return game._replace(trunk=game.trunk._replace(**{name: array}))

    return change


def field(game: ChunkedForm, name: str) -> int:
    """The row of ``place`` of an array of shapes."""
    return game.shapes.fields.index(name)


def of_place(shape: int, name: str, column: int, *, to: int) -> Change:
    """One number of ``place``, changed."""

    def change(game: ChunkedForm) -> ChunkedForm:
        place = game.shapes.place.copy()
        place[shape, field(game, name), column] = to
        return game._replace(shapes=game.shapes._replace(place=place))

    return change


def of_shape(shape: int, name: str, at: int, *, to: int = 0, by: int = 0) -> Change:
    """One number of an array of a shape, changed to a number or by one."""

    def change(game: ChunkedForm) -> ChunkedForm:
        pool = "indices" if name == "infoset_parent" else "integers"
        begin, size, _ = game.shapes.place[shape, field(game, name)].tolist()
        numbers = getattr(game.shapes, pool).copy()
        where = range(begin, begin + size)[at]
        numbers[where] = int(numbers[where]) + by if by else to
        return game._replace(shapes=game.shapes._replace(**{pool: numbers}))

    return change


def one_shape_more(game: ChunkedForm) -> ChunkedForm:
    """A shape that no chunk has, as the first one is."""
    place = np.concatenate([game.shapes.place, game.shapes.place[:1]])
    return game._replace(shapes=game.shapes._replace(place=place))


def without_last_chunk(game: ChunkedForm) -> ChunkedForm:
    """The last chunk and its shape are left out."""
    ends = int(game.run_offset[-1, 0])
    above = game.parent_part[:-1]
    tour = pass_order_of(above, game.shapes.sequences[game.shape[:-1]])
    return game._replace(
        **tour._asdict(),
        parent_part=above,
        shapes=game.shapes._replace(place=game.shapes.place[:-1]),
        shape=game.shape[:-1],
        number_offset=game.number_offset[:-1],
        sequence_offset=game.sequence_offset[:-1],
        entry_offset=game.entry_offset[:-1],
        run_offset=game.run_offset[:-1],
        entry_runs=game.entry_runs[:ends],
    )


def entries_of(chunk: int, player: int, *, to: Callable[[ChunkedForm], int]) -> Change:
    """The first entries of a player lie behind another sequence and those after it."""

    def change(game: ChunkedForm) -> ChunkedForm:
        return put("entry_runs", int(game.run_offset[chunk, player]), 1, to=to(game))(game)

    return change


def more_entries(game: ChunkedForm) -> ChunkedForm:
    """The last row has an entry more than its shape has room for."""
    row = game.entry_runs.copy()
    row[-1, 0] += 1
    beyond = np.append(game.entry_distances, game.entry_distances)
    offset = game.entry_offset.copy()
    offset[-1, 2] += 1
    return game._replace(entry_runs=row, entry_distances=beyond, entry_offset=offset)


ROWS: list[tuple[str, Change, str]] = [
    ("K1", whole("shape", lambda array: array.astype(np.int32)), "shape is int32, not int64"),
    (
        "K1",
        whole("entry_distances", lambda array: array.astype(np.int64)),
        "entry_distances is int64, not uint32",
    ),
    ("K1", whole("number_offset", lambda array: array[:-1]), "number_offset has shape"),
    ("K1", whole("entry_offset", lambda array: array[:, :2]), "entry_offset has shape"),
    (
        "K1",
        lambda game: game._replace(
            shapes=game.shapes._replace(reals=game.shapes.reals.astype(np.float32))
        ),
        "shapes.reals is float32, not float64",
    ),
    (
        "K1",
        lambda game: game._replace(shapes=game.shapes._replace(place=game.shapes.place[:, 1:])),
        "shapes.place has shape",
    ),
    (
        "K1",
        lambda game: game._replace(trunk=compile_game("kuhn(players=3)").form),
        "entry_offset has shape",
    ),
    ("K2", of_trunk("bucket_sequence", 0, to=2), "the trunk breaks S5 .*begins at sequence 2"),
    ("K2", of_trunk("infoset_parent", 0, to=10**6), "the trunk breaks S6"),
    ("K3", of_place(0, "blocks/weight", 1, to=10**9), "blocks/weight of shape 0 has 1000000000"),
    ("K3", of_place(1, "payoff/row", 0, to=-1), "payoff/row of shape 1 has .* from -1 on"),
    (
        "K3",
        of_place(1, "blocks/code", 0, to=10**9),
        "blocks/code of shape 1 has .* from 1000000000",
    ),
    ("K3", of_place(1, "bucket_lanes", 1, to=1), "shape 1: bucket_lanes has shape"),
    ("K4", of_shape(1, "bucket_level", 0, to=1), "shape 1 breaks S3"),
    ("K4", of_shape(1, "infoset_parent", -1, to=0), "shape 1 breaks S6"),
    ("K4", of_shape(0, "payoff/offset", 0, to=1), "shape 0 breaks P2"),
    ("K5", of_shape(0, "bucket_sequence", 1, by=-16), "bucket 1 of shape 0 begins at sequence"),
    ("K5", of_shape(0, "bucket_sequence", 1, by=16), "bucket 1 of shape 0 begins at sequence"),
    ("K5", of_shape(0, "bucket_sequence", 0, by=16), "bucket 0 of shape 0 .* within a row"),
    ("K6", put("shape", 0, to=-1), "chunk 0 has shape -1"),
    ("K6", put("shape", -1, to=10**6), "has shape 1000000"),
    ("K6", one_shape_more, "shape .* has no chunk"),
    ("K7", put("number_offset", 1, to=1000), "chunk 1 begins at number 1000, not"),
    ("K7", put("number_offset", -1, to=64), "the arrays end at number 64, not"),
    ("K7", put("sequence_offset", 1, to=0), "chunk 1 has the sequence offset 0, not"),
    (
        "K8",
        put("parent_part", 1, to=2),
        "chunk 1 is entered from part 2, which does not lead to it",
    ),
    ("K8", put("parent_part", 1, to=1), "scratch_offset 0 is 0, not "),
    ("K8", put("scratch_offset", 1, to=64), "scratch_offset 1 is 64, not 0"),
    ("K8", put("pass_order", 1, to=2), "pass_order 1 is 2, not 1"),
    ("K8", whole("pass_order", lambda array: array[:-1]), "pass_order has .* numbers, not"),
    ("K8", put("branch_offset", 2, to=3), "branch_offset 2 is 3, not 2"),
    ("K9", put("entry_offset", 0, 1, to=0), r"chunk 0 has entry \[0, "),
    ("K9", put("run_offset", -1, 1, to=0), "chunk .* has run "),
    ("K9", put("entry_offset", 0, 2, to=100), "chunk 1 begins at entry"),
    (
        "K9",
        whole("entry_runs", lambda array: np.append(array, array[:1], axis=0)),
        "rows of entries, and",
    ),
    ("K9", put("entry_runs", 0, 0, to=0), "row 0 of entries is "),
    ("K9", put("entry_runs", 0, 2, to=10**6), "row 0 of entries is "),
    ("K9", put("entry_runs", 0, 0, to=1), "player 0 has .* entries into chunk 0, and rows of"),
    ("K10", more_entries, "chunk .* has .* and its shape space for"),
    (
        "K11",
        entries_of(1, 0, to=lambda game: int(game.trunk.player_sequences[1])),
        "of player 0 into chunk 1 lies behind sequences",
    ),
    (
        "K11",
        entries_of(0, 1, to=lambda game: game.trunk.n_sequences),
        "of player 1 into chunk 0 lies behind sequences",
    ),
    ("K11", entries_of(0, 1, to=lambda game: 0), "of player 1 into chunk 0 lies behind sequences"),
    ("K12", without_last_chunk, "trunk and chunks have"),
]
CUT_TWICE: list[tuple[str, Change, str]] = [
    (
        "K8",
        put("parent_part", 2, to=0),
        "chunk 3 is entered from part 1, which does not lead to it",
    ),
    ("K8", put("parent_part", 12, to=0), "pass_order 13 is 13, not -2"),
    ("K8", put("parent_part", 3, to=3), "scratch_offset 2 is 0, not "),
    ("K8", put("scratch_offset", 0, to=0), "scratch_offset 0 is 0, not "),
    ("K9", put("entry_offset", 2, 0, to=0), "chunk 2 begins at entry 0, not where others end"),
    (
        "K11",
        lambda game: put(
            "entry_runs",
            int(game.run_offset[2, 0]),
            1,
            to=int(game.shapes.array(int(game.shape[0]), "player_sequences")[1]),
        )(game),
        "of player 0 into chunk 2 lies behind sequences .* of part 1",
    ),
]
"""The same lines where chunks are below chunks: chunk 2 is the first one below another."""
NAMES = {invariant.number: invariant.name for invariant in all_invariants()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[2]}")
def test_a_broken_invariant_is_named_with_what_breaks_it(row: tuple[str, Change, str]) -> None:
    number, change, message = row
    with pytest.raises(InvariantError, match=message) as caught:
        check_chunks(change(leduc()), sequences=LEDUC)
    assert str(caught.value).startswith(f"{number} ({NAMES[number]}): ")


@pytest.mark.parametrize("row", CUT_TWICE, ids=lambda row: f"{row[0]}: {row[2]}")
def test_chunks_below_chunks_keep_the_lines(row: tuple[str, Change, str]) -> None:
    check_chunks(cut_twice(), sequences=LEDUC)
    number, change, message = row
    with pytest.raises(InvariantError, match=message) as caught:
        check_chunks(change(cut_twice()), sequences=LEDUC)
    assert str(caught.value).startswith(f"{number} ({NAMES[number]}): ")


def test_chunks_of_cards_are_below_their_boards() -> None:
    """A chunk for each board after the first deal, and below it those of its later boards."""
    rules = RandomSuits(2, ranks=3, suits=3, width=1, rounds=2, public=(0,))
    game = compile_game(rules, cut=1)
    rounds = game.nodes.symmetry.rounds
    for board, parent in enumerate(rounds[2].parent.tolist()):
        for chunk in game.nodes.chunks[2][board].tolist():
            assert game.chunks.parent_part[chunk] == game.nodes.chunks[1][parent, 0] + 1
    assert game.chunks.n_branches == len(rounds[1].board)


def test_every_line_is_broken_here() -> None:
    lines = {invariant.number for invariant in all_invariants() if invariant.of == "chunks"}
    assert lines == {number for number, _, _ in ROWS}


def test_boards_of_equal_structure_share_all_but_their_hands() -> None:
    check_chunks(suits())
    game = suits()
    begin = game.shapes.place[:, field(game, "player_sequences"), 0]
    one, other = np.flatnonzero(begin == begin[-1])[[0, -1]].tolist()
    assert one < other
    changed = of_place(other, "cards/same", 0, to=0)(game)
    with pytest.raises(
        InvariantError, match=f"K3 .*{one} and {other} share .*, but not cards/same"
    ):
        check_chunks(changed)


def test_the_payoffs_of_a_trunk_and_of_shapes_are_checked() -> None:
    game = suits()
    (part,) = game.trunk.operator
    amount = part.amount.copy()
    amount[0, 0, 0, 0] = np.nan
    trunk = game.trunk._replace(operator=(part._replace(amount=amount),))
    with pytest.raises(InvariantError, match=r"K2 .*the trunk breaks C9 .*is not finite"):
        check_chunks(game._replace(trunk=trunk))
    with pytest.raises(InvariantError, match=r"K4 .*shape 0 breaks C7 .*group 0 has 17 terminals"):
        check_chunks(of_shape(0, "cards/group", 0, to=17)(game))


def test_a_public_tree_is_checked_when_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    count = cut_chunks.sequences_below
    monkeypatch.setattr(
        cut_chunks, "sequences_below", lambda graph: count(graph) + (count(graph) > 0)
    )
    with pytest.raises(InvariantError, match=f"K12 .*and the game {LEDUC + 1:,}"):
        compile_game("leduc", cut=2, symmetry=False)


def test_a_game_of_cards_is_checked_when_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = card_game._Compiler._entries

    def beyond(*given: Any) -> Entered:
        found = entries(*given)
        return found._replace(entry_distances=found.entry_distances + np.uint32(10**6))

    monkeypatch.setattr(card_game._Compiler, "_entries", beyond)
    with pytest.raises(InvariantError, match=r"K11 .*of player 0 into chunk 0"):
        compile_game(RandomSuits(2, ranks=3, suits=3, width=1, rounds=2, public=(0,)))
