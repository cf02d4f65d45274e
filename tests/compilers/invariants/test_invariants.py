"""One malformed compiled game per invariant of ``docs/reference/invariants.md``, with its error."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support import broken_public_games
from support.paths import DOCS
from support.random_games import random_game, random_public_tree_game
from support.spoiling import (
    Bad,
    Spoil,
    both,
    cast,
    compiled,
    form,
    labels,
    swap,
    tree,
    unlabelled,
    whole,
)
from tensorcfr.compilers import compile_game, payoff_blocks
from tensorcfr.compilers.invariants import all_invariants, check, merged_checks
from tensorcfr.errors import GameError, InvariantError
from tensorcfr.model import flat_views
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.model.flat_game import FlatGame
from tensorcfr.payoff import (
    KINDS,
    PayoffBlocks,
    PayoffEntries,
    count_entries,
    entries,
    product,
    triples,
)
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.storage import load_game
from tensorcfr.storage.archive import write_arrays
from tensorcfr.storage.game_files import pack_game

LIST = DOCS / "reference" / "invariants.md"
EXAMPLES = DOCS / "data-model.md"


def misaligned(array: np.ndarray) -> np.ndarray:
    """The same numbers at an odd address."""
    numbers = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype)
    numbers[:] = array
    return numbers


def tied(ties: dict[int, int], left_out: int = 0) -> Spoil:
    """Ties of some infosets to others; the last ones left out."""

    def spoil(game: FlatGame) -> FlatGame:
        first = np.arange(game.n_infosets - left_out, dtype=np.uint32)
        first[list(ties)] = list(ties.values())
        return replace(game, strategy_class=first, merged=None)

    return spoil


ROWS = [
    Bad(
        "A1",
        whole("tree", parent=lambda array: array.tolist()),
        "parent is of type list, not an array",
    ),
    Bad("A1", whole(infoset_parent=cast(np.int64)), "infoset_parent is int64, not uint32"),
    Bad(
        "A1",
        whole("tree", player=lambda array: array[:-1]),
        "player has shape (57,), not (nodes,) = (58,)",
    ),
    Bad(
        "A1",
        whole("tree", utility=lambda array: array[:, 0]),
        "utility has shape (30,), not (terminals, players) = (30, 2)",
    ),
    Bad(
        "A1",
        whole(payoff__column=lambda array: np.vstack([array, array])),
        "payoff.column has shape (2, 60), not (players - 1, entries) = (1, 60)",
    ),
    Bad(
        "A1",
        whole(
            "tree",
            first_child=lambda array: array[:1],
            **{
                f: lambda array: array[:0]
                for f in (
                    "parent",
                    "player",
                    "infoset",
                    "probability",
                    "outcome",
                    "terminal",
                    "utility",
                )
            },
        ),
        "there are 2 players and 0 nodes",
    ),
    Bad("A2", whole("tree", utility=np.asfortranarray), "utility is not contiguous in C order"),
    Bad(
        "A2",
        whole(payoff__value=lambda array: np.repeat(array, 2)[::2]),
        "payoff.value is not contiguous in C order",
    ),
    Bad(
        "A1",
        whole(payoff__row=lambda array: array.astype(">i8")),
        "payoff.row is int64 in foreign byte order, not int64",
    ),
    Bad(
        "A1",
        whole("public", parent=lambda array: array.astype(">i4")),
        "public.parent is int32 in foreign byte order, not a signed integer",
        "kuhn",
    ),
    Bad(
        "A1",
        whole(blocks__program_offset=lambda array: array[:0]),
        "blocks.program_offset has shape (0,), not (programs + 1,) = (1,)",
        "blocks",
    ),
    Bad("A2", whole(payoff__value=misaligned), "payoff.value is not aligned"),
    Bad("A3", form("bucket_stride", 0, to=2**62), f"bucket_stride holds {2**62}"),
    Bad("A3", tree("first_child", 3, to=-(2**63)), f"first_child holds {-(2**63)}"),
    Bad("A3", form("blocks.code", 0, to=2**32 + 1), f"blocks.code holds {2**32 + 1}", "blocks"),
    # Counts whose product is that of 3 lanes and 2 actions once it has overflowed, or nearly so.
    Bad("S2", form("bucket_actions", 0, to=2**31), f"bucket_actions[0] is {2**31}"),
    Bad("S2", form("bucket_lanes", 0, to=2**32), f"bucket_lanes[0] is {2**32}"),
    Bad("S2", form("bucket_level", 0, to=2**31), f"bucket_level[0] is {2**31}"),
    Bad(
        "P2",
        both(form("payoff.rows", 0, to=2**32), form("payoff.entries", 0, to=2**32)),
        f"slice 0 has {2**32} rows of {2**32} entries, but there are 60",
    ),
    Bad("T1", tree("parent", 0, to=0), "node 0 has the parent 0, not -1"),
    Bad("T1", tree("parent", 7, to=7), "node 7 has the parent 7, which does not come before it"),
    Bad("T1", tree("parent", 7, to=-1), "node 7 has the parent -1, which does not come before it"),
    Bad("T2", tree("first_child", 0, to=0), "first_child begins at 0, not 1"),
    Bad("T2", tree("first_child", 5, to=9), "first_child falls from 10 at node 4"),
    Bad("T2", tree("first_child", -1, to=59), "first_child ends at 59, but there are 58 nodes"),
    Bad(
        "T3",
        tree("parent", 6, to=1),
        "node 6 has the parent 1, but is among the children of node 2",
    ),
    Bad(
        "T3",
        tree("first_child", 2, to=7),
        "node 6 has the parent 2, but is among the children of node 1",
    ),
    Bad(
        "T4",
        tree("player", 10, to=2),
        "node 10 (history [J, Q, pass]) has player 2; players are 0 to 1, -1 is chance, -2 "
        "a terminal",
    ),
    Bad(
        "T4",
        tree("player", 10, to=-3),
        "node 10 (history [J, Q, pass]) has player -3; players are 0 to 1, -1 is chance, "
        "-2 a terminal",
    ),
    Bad(
        "T5",
        tree("infoset", 10, to=12),
        "node 10 (history [J, Q, pass]) has infoset 12, not 0 to 11",
    ),
    Bad(
        "T5",
        tree("infoset", 10, to=CHANCE),
        "node 10 (history [J, Q, pass]) has infoset -1, not 0 to 11",
    ),
    Bad("T5", tree("infoset", 2, to=3), "node 2 (history [Q]) has infoset 3, not -1"),
    Bad(
        "T5",
        tree("infoset", 22, to=CHANCE),
        "node 22 (history [J, Q, pass, pass]) has infoset -1, not -2",
    ),
    Bad(
        "T6",
        both(tree("player", 10, to=TERMINAL), tree("infoset", 10, to=TERMINAL)),
        "node 10 (history [J, Q, pass]) is a terminal and has 2 children",
    ),
    Bad(
        "T6",
        both(tree("player", 57, to=0), tree("infoset", 57, to=3)),
        "node 57 (history [K, Q, pass, bet, bet]) is not a terminal and has 0 children",
    ),
    Bad(
        "T7",
        tree("outcome", 6, to=-1),
        "node 6, a child of node 2 (history [Q]), has outcome -1, not 0 to 2",
    ),
    Bad(
        "T7",
        tree("outcome", 6, to=3),
        "node 6, a child of node 2 (history [Q]), has outcome 3, not 0 to 2",
    ),
    Bad(
        "T7",
        tree("outcome", 10, to=0),
        "node 10, a child of node 4 (history [J, Q]), has outcome 0, not -1",
    ),
    Bad("T7", tree("outcome", 0, to=0), "node 0 has outcome 0, not -1"),
    Bad(
        "T8",
        tree("outcome", 3, to=0),
        "node 1 and node 3 (history [J]) are siblings with one outcome",
    ),
    Bad(
        "T9",
        whole("tree", terminal=lambda array: array[:-1], utility=lambda array: array[:-1]),
        "terminal lists 29 of 30 terminals",
    ),
    Bad(
        "T9",
        whole("tree", terminal=swap(0, 1)),
        "terminal[0] is 24, not node 22 (history [J, Q, pass, pass])",
    ),
    Bad(
        "T10",
        tree("utility", 1, 1, to=np.nan),
        "node 24 (history [J, Q, bet, pass]) pays [1.0, nan]",
    ),
    Bad(
        "T10",
        tree("utility", 29, 0, to=np.inf),
        "node 57 (history [K, Q, pass, bet, bet]) pays [inf, -2.0]",
    ),
    Bad("T11", tree("probability", 6, to=-0.5), "node 6 (history [Q, J]) has probability -0.5"),
    Bad("T11", tree("probability", 6, to=np.nan), "node 6 (history [Q, J]) has probability nan"),
    Bad("T12", tree("probability", 6, to=0.4), "they sum to 0.9 at node 2 (history [Q])"),
    Bad("T12", tree("probability", 3, to=1 / 3 + 2e-9), "they sum to 1.000000002 at the root"),
    Bad(
        "T13",
        tree("probability", 10, to=0.5),
        "node 10 (history [J, Q, pass]) has probability 0.5, but chance did not act",
    ),
    Bad(
        "T13",
        tree("probability", 0, to=0.5),
        "the root has probability 0.5, but chance did not act",
    ),
    Bad("S1", form("player_infosets", 0, to=1), "player_infosets begins at 1, not 0"),
    Bad("S1", form("player_infosets", 2, to=11), "player_infosets ends at 11, not 12"),
    Bad(
        "S1",
        form("player_sequences", 2, to=13),
        "player_sequences gives player 1 the range 13 to 13",
    ),
    Bad("S1", form("player_buckets", 1, to=4), "player_buckets gives player 1 the range 4 to 3"),
    Bad("S2", form("bucket_level", 0, to=-1), "bucket_level[0] is -1"),
    Bad("S2", form("bucket_actions", 1, to=0), "bucket_actions[1] is 0"),
    Bad("S2", form("bucket_lanes", 1, to=0), "bucket_lanes[1] is 0"),
    Bad(
        "S3",
        form("bucket_level", 0, to=2),
        "bucket 0 has (level, actions, mask) (2, 2, 0), but bucket 1 has (1, 2, 0)",
    ),
    Bad(
        "S3",
        form("bucket_level", 1, to=0),
        "bucket 0 has (level, actions, mask) (0, 2, 0), but bucket 1 has (0, 2, 0)",
    ),
    Bad(
        "S3",
        both(form("bucket_actions", 1, to=3), form("bucket_actions", 2, to=2)),
        "bucket 1 has (level, actions, mask) (1, 3, 0), but bucket 2 has (1, 2, 0)",
        "forked",
    ),
    Bad("S4", form("bucket_infoset", 1, to=2), "bucket 1 begins at infoset 2, not 3"),
    Bad(
        "S4",
        form("player_infosets", 1, to=5),
        "the buckets before player 1 end at infoset 6, but player_infosets[1] is 5",
    ),
    Bad("S5", form("bucket_sequence", 2, to=13), "bucket 2 begins at sequence 13, not 14"),
    Bad(
        "S5",
        form("player_sequences", 2, to=27),
        "the buckets before player 2 end at sequence 26, but player_sequences[2] is 27",
    ),
    Bad(
        "S5",
        form("bucket_actions", 2, to=3),
        "the buckets before player 2 end at sequence 32, but player_sequences[2] is 26",
    ),
    Bad(
        "S6",
        form("infoset_parent", 3, to=14),
        "infoset 3 ('Jpb') of player 0 has the parent 14, which is none of this player's sequences",
    ),
    Bad(
        "S6",
        form("infoset_parent", 6, to=0),
        "infoset 6 ('Jb') of player 1 has the parent 0, which is none of this player's sequences",
    ),
    Bad(
        "S3",
        form("bucket_level", 1, to=2),
        "bucket 1 is at level 2, but player 0 has none at level 1",
    ),
    Bad(
        "S3",
        form("bucket_level", 2, to=1),
        "bucket 2 is at level 1, but player 1 has none at level 0",
    ),
    Bad(
        "S7",
        form("infoset_parent", 3, to=7),
        "infoset 3 ('Jpb') is at level 1, but its parent, sequence 7 ('pass' at infoset 3 "
        "('Jpb')), is at level 1",
    ),
    Bad(
        "S8",
        tree("infoset", 10, to=0),
        "player 1 acts at node 10 (history [J, Q, pass]), but infoset 0 ('J') is player 0's",
    ),
    Bad("S9", tree("infoset", [23, 27], to=4), "infoset 3 ('Jpb') has none"),
    Bad(
        "S10",
        tree("infoset", 3, to=2),
        "node 3 (history [heads, l]) has 2 children, but infoset 2 ('r') has 3 actions",
        "forked",
    ),
    Bad(
        "S11",
        tree("infoset", 23, to=4),
        "player 0 reaches node 23 (history [J, Q, pass, bet]) by sequence 1 ('pass' at "
        "infoset 0 ('J')), but the parent of infoset 4 ('Qpb') is sequence 2 ('pass' at "
        "infoset 1 ('Q'))",
    ),
    Bad(
        "S11",
        form("infoset_parent", 3, to=2),
        "player 0 reaches node 23 (history [J, Q, pass, bet]) by sequence 1 ('pass' at "
        "infoset 0 ('J')), but the parent of infoset 3 ('Jpb') is sequence 2 ('pass' at "
        "infoset 1 ('Q'))",
    ),
    Bad("P1", form("payoff.rows", 1, to=0), "payoff.rows[1] is 0"),
    Bad("P1", form("payoff.entries", 1, to=0), "payoff.entries[1] is 0"),
    Bad("P1", form("payoff.slices", 1, to=10), "payoff.slices gives player 1 the range 10 to 9"),
    Bad("P1", form("payoff.slices", 2, to=4), "payoff.slices ends at 4, not 9"),
    Bad("P2", form("payoff.offset", 1, to=7), "slice 1 begins at entry 7, not 6"),
    Bad("P2", form("payoff.entries", 8, to=5), "the slices end at entry 61, but there are 60"),
    Bad(
        "P3",
        form("payoff.row", 2, to=8),
        "slice 2 of player 0 has rows 8 to 13, which are not all sequences of that player",
    ),
    Bad(
        "P3",
        form("payoff.row", 1, to=3),
        "slice 1 begins at sequence 3 ('pass' at infoset 2 ('K')), which does not come "
        "after the rows of slice 0",
    ),
    Bad(
        "P4",
        form("payoff.column", 0, 0, to=1),
        "entry 0, of sequence 1 ('pass' at infoset 0 ('J')), has column 1, which is not a "
        "sequence of player 1",
    ),
    Bad(
        "P4",
        form("payoff.column", 0, 59, to=26),
        "entry 59, of sequence 25 ('bet' at infoset 11 ('Kp')), has column 26, which is not a "
        "sequence of player 0",
    ),
    Bad(
        "P5",
        both(whole(payoff__column=swap(0, 3)), whole(payoff__value=swap(0, 3))),
        "the columns of sequence 1 ('pass' at infoset 0 ('J')) go from [19] to [17]",
    ),
    Bad(
        "P5",
        form("payoff.column", 0, 3, to=17),
        "the columns of sequence 1 ('pass' at infoset 0 ('J')) go from [17] to [17]",
    ),
    Bad(
        "P6",
        form("payoff.value", 19, to=np.nan),
        "entry 19, of sequence 8 ('pass' at infoset 4 ('Qpb')), has value nan",
    ),
    Bad(
        "P7",
        form("payoff.column", 0, 0, to=18),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')) differ",
    ),
    Bad(
        "P7",
        whole(payoff__value=lambda array: array * (1 + 1e-8)),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')) differ",
    ),
    Bad(
        "P7",
        tree("utility", 0, 1, to=3.0),
        "the payoffs of sequence 17 ('pass' at infoset 9 ('Qp')) differ",
    ),
    # Where labels are missing too, what is at fault is still named, by its number.
    Bad(
        "T4",
        both(unlabelled, tree("player", 10, to=2)),
        "node 10 has player 2; players are 0 to 1, -1 is chance, -2 a terminal",
    ),
    Bad(
        "S6",
        both(unlabelled, form("infoset_parent", 3, to=14)),
        "infoset 3 of player 0 has the parent 14, which is none of this player's sequences",
    ),
    Bad(
        "S7",
        both(unlabelled, form("infoset_parent", 3, to=7)),
        "infoset 3 is at level 1, but its parent, sequence 7 (action 0 at infoset 3), is "
        "at level 1",
    ),
    Bad("R1", tied({}, left_out=1), "tied_to has 11 entries for 12 infosets"),
    Bad("R1", tied({0: 1}), "infoset 0 ('J') shares the strategy of 1, which comes after it"),
    Bad(
        "R1",
        tied({1: 0, 2: 1}),
        "infoset 2 ('K') shares the strategy of 1, which shares that of another infoset",
    ),
    Bad("R1", tied({6: 0}), "infoset 6 ('Jb') shares the strategy of 0 of another player"),
    Bad(
        "R1",
        tied({2: 0}),
        "infoset 2 ('r') shares the strategy of 0 of another number of actions",
        "histories:forked",
    ),
    Bad(
        "R2",
        tied({3: 0}),
        "infoset 3 ('Jpb') shares the strategy of infoset 0, which is before it on a path",
    ),
    Bad(
        "L1",
        lambda game: replace(game, infoset_labels=game.infoset_labels[:-1]),
        "there are 11 labels for 12 infosets",
    ),
    Bad(
        "L1",
        lambda game: replace(game, infoset_actions=game.infoset_actions[1:]),
        "there are 11 action tuples for 12 infosets",
    ),
    Bad("L2", labels("infoset_labels", 5, "J"), "'J' is number 0 and number 5"),
    Bad("L2", labels("infoset_labels", 5, 7), "7 is of type int, not str"),
    Bad(
        "L3",
        labels("infoset_actions", 3, ("pass",)),
        "infoset 3 ('Jpb') has 2 actions, but the labels ['pass']",
    ),
    Bad(
        "L3",
        labels("infoset_actions", 3, ["pass", "bet"]),
        "the actions of infoset 3 ('Jpb') are of type list, not tuple",
    ),
    Bad(
        "L3",
        labels("infoset_actions", 3, ("bet", "bet")),
        "'bet' is number 0 and number 1 at infoset 3 ('Jpb')",
    ),
    Bad(
        "L3", labels("infoset_actions", 3, (0, 1)), "0 is of type int, not str at infoset 3 ('Jpb')"
    ),
    Bad("L4", labels("outcome_labels", 1, "J"), "'J' is number 0 and number 1"),
    Bad("L4", labels("outcome_labels", 1, None), "None is of type NoneType, not str"),
    *broken_public_games.ROWS,
]

MERGED = [row for row in ROWS if row.number[0] == "M"]
MENDED = ("in foreign byte order", "is not contiguous in C order", "is not aligned")
"""Broken invariants that saving mends."""
ONE_OF_EACH = {
    row.number: row
    for row in ROWS
    # A file says the number of its labels by their list.
    if row.number[0] not in "L" and not any(part in row.message for part in (*MENDED, "labels"))
}
"""A row of each number that a file can hold."""

NAMES = {invariant.number: invariant.name for invariant in all_invariants()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_broken_invariant_is_named_with_what_breaks_it(row: Bad) -> None:
    with pytest.raises(InvariantError) as raised:
        check(row.spoil(compiled(row.game)))
    # What P7 says after the sequence are figures of the weights.
    said = str(raised.value).partition(": under one and the same weights")[0]
    assert said == f"{row.number} ({NAMES[row.number]}): {row.message}"


def written(row: Bad, folder: Path) -> Path:
    """A file with the broken game, with a digest of its own."""
    spoiled = row.spoil(compiled(row.game))
    header = {"kind": "game", "name": spoiled.name}
    return write_arrays(folder / "game", header, pack_game(spoiled))


@pytest.mark.parametrize("number", ONE_OF_EACH)
def test_the_same_through_files(number: str, tmp_path: Path) -> None:
    path = written(ONE_OF_EACH[number], tmp_path)
    with pytest.raises(ValueError, match=re.escape(f"{path} is damaged: {number} (")):
        load_game(path)


def test_saving_mends_the_layout_of_arrays(tmp_path: Path) -> None:
    mended = [row for row in ROWS if any(part in row.message for part in MENDED)]
    assert len(mended) == 6
    for row in mended:
        assert load_game(written(row, tmp_path)).digest == compiled(row.game).digest


@pytest.mark.parametrize("row", MERGED, ids=lambda row: row.number)
def test_merged_games_are_checked_alike_by_kernels(
    row: Bad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As large games are, whose payoffs are not multiplied in NumPy."""
    monkeypatch.setattr(merged_checks, "COMPILED_CHECK_FROM", 0)
    test_a_broken_invariant_is_named_with_what_breaks_it(row)


@pytest.mark.parametrize("name", ["suited", "blocks", "liars_dice(faces=4)", "leduc"])
def test_merged_games_pass_by_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_checks, "COMPILED_CHECK_FROM", 0)
    game = compiled(name)
    assert game.merged is not None
    check(game)
    weight = np.random.default_rng(2).uniform(size=game.n_sequences)
    for player in range(2):
        own = slice(*game.form.player_sequences[player : player + 2])
        by_kernel = np.empty(game.n_sequences)
        merged_checks.multiply(game.form, player, weight, by_kernel)
        expected = product(game.form, player, weight)
        np.testing.assert_allclose(by_kernel[own], expected, rtol=1e-12, atol=1e-14)


def test_every_line_of_the_list_is_checked_and_has_a_row() -> None:
    text = LIST.read_text("utf-8")
    written = re.findall(r"^- \*\*([A-Z]\d+)\*\*", text, re.MULTILINE)
    assert written == [invariant.number for invariant in all_invariants()]
    # Chunks and kinds of payoffs have modules of their own, except the kinds of flat games.
    kinds = {*KINDS, "chunks"} - {"payoff", "blocks"}
    elsewhere = {row.number for row in all_invariants() if row.of in kinds}
    assert set(written) == {row.number for row in ROWS} | elsewhere


def test_the_examples_of_the_data_model_are_true() -> None:
    """Rows end with ``| `[first ... last values]` |``; the rows of liar's dice name slices."""
    rows = rows_of(EXAMPLES.read_text("utf-8"))
    kuhn = [row for row in rows if "[" not in row[0]]
    dice = [row for row in rows if "[" in row[0]]
    assert len(dice) == 5
    game = compiled("kuhn")
    arrays = [*game.arrays().items(), *game.tree._asdict().items()]
    expected = [(name.partition("/")[2].replace("/", ".") or name, array) for name, array in arrays]
    assert sorted(name for name, _ in kuhn) == sorted(name for name, _ in expected)
    for name, shown in kuhn:
        # The trees have names in common.
        found = [array for other, array in expected if other == name]
        assert any(shows(shown, array) for array in found), name
    blocks = compiled("liars_dice(faces=4)").form.part(PayoffBlocks)
    for name, shown in dice:
        field, begin, end = re.fullmatch(r"(\w+)\[(\d+):?(\d*)\]", name).groups()  # type: ignore[union-attr]
        stop = int(end or int(begin) + 1)
        assert shows(shown, getattr(blocks, field)[int(begin) : stop]), name


def rows_of(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| `([\w.:\[\]]+)` \|(?:.*\|)? `\[(.*)\]` \|$", text, re.MULTILINE)


def shows(shown: str, array: np.ndarray) -> bool:
    begin, left_out, end = shown.partition("...")
    values = array.ravel().tolist()
    first, last = ([float(Fraction(value)) for value in part.split()] for part in (begin, end))
    if not left_out:
        return values == pytest.approx(first)
    return (values[: len(first)], values[-len(last) :]) == (
        pytest.approx(first),
        pytest.approx(last),
    )


GAMES = (
    "kuhn",
    "histories:kuhn",
    "kuhn(players=3)",
    "leduc",
    "goofspiel",
    "matching_pennies",
    "liars_dice(faces=4)",
    "forked",
    "suited",
    "blocks",
    "histories:blocks",
    "lazy",
)


@pytest.mark.parametrize("name", GAMES)
def test_compiled_games_pass(name: str) -> None:
    check(compiled(name))
    check(compiled(name), expand=True)


@pytest.mark.openspiel
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_recognised_games_pass(name: str) -> None:
    pytest.importorskip("pyspiel")
    game = compiled(f"openspiel:{name}")
    assert game.histories is not None
    assert game.public is not None
    check(game, expand=True)


@pytest.mark.parametrize("seed", range(20))
def test_random_games_pass(seed: int) -> None:
    check(compile_game(random_game(seed, n_players=1 + seed % 4, max_histories=60)), expand=True)
    check(compile_game(random_public_tree_game(seed, n_players=2 + seed % 2)), expand=True)


@pytest.mark.parametrize("seed", range(10))
def test_random_games_in_blocks_pass(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payoff_blocks, "ENTRY_NS", 1e9)
    game = compile_game(random_public_tree_game(seed, zero_sum=seed % 2 == 0))
    assert game.form.part(PayoffBlocks).n_blocks
    check(game, expand=True)


def test_a_large_game_is_checked_without_expanding_it(monkeypatch: pytest.MonkeyPatch) -> None:
    game = compile_game("liars_dice")

    def never(*args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(flat_views, "expand", never)
    check(game)
    with pytest.raises(AssertionError):
        check(replace(game), expand=True)


@pytest.mark.parametrize("name", ["kuhn(players=3)", "suited", "blocks", "liars_dice(faces=4)"])
def test_the_operator_entry_by_entry(name: str) -> None:
    form = compiled(name).form
    x = np.random.default_rng(1).uniform(size=form.n_sequences)
    for player in range(form.n_players):
        row, column, value = triples(form, player)
        begin, end = form.player_sequences[player : player + 2]
        summed = np.bincount(row - begin, value * x[column].prod(axis=0), end - begin)
        np.testing.assert_allclose(summed, product(form, player, x), rtol=1e-12, atol=1e-15)
        assert count_entries(form, player) == len(value)


def test_a_game_without_decisions_passes() -> None:
    class Over(Game):
        def node(self, history: tuple[str, ...]) -> Terminal:
            return Terminal((1.0, -1.0))

    check(compile_game(Over()))


@pytest.mark.parametrize("name", ["kuhn", "kuhn(players=3)", "suited"])
def test_every_change_of_the_payoffs_is_found(name: str) -> None:
    game = compiled(name)
    for entry in range(0, len(game.form.part(PayoffEntries).value), 7):
        value = game.form.part(PayoffEntries).value[entry]
        with pytest.raises(InvariantError, match=r"^(P7|V12) "):
            check(form("payoff.value", entry, to=value + 1e-7)(game))


@pytest.mark.parametrize("name", ["blocks", "histories:blocks"])
def test_every_change_of_a_block_is_found(name: str) -> None:
    game = compiled(name)
    blocks = game.form.part(PayoffBlocks)
    for field in ("coefficient", "weight"):
        # Beside a count there is no weight.
        for at in np.flatnonzero(getattr(blocks, field)).tolist():
            value = getattr(blocks, field)[at] * (1 + 1e-6)
            with pytest.raises(InvariantError, match=r"^(P7|V12) "):
                check(form(f"blocks.{field}", at, to=value)(game))
    for at in np.flatnonzero(blocks.weight == 0.0).tolist():
        with pytest.raises(InvariantError, match=rf"weight\[{at}\] is 1\.0, not 0, where code has"):
            check(form("blocks.weight", at, to=1.0)(game))


def test_payoffs_that_cancel_are_no_difference() -> None:
    """Each own sequence of player 0 gets 0.1 + 0.2 - 0.3, which floats do not sum to 0."""

    class Cancelling(Game):
        def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
            if not history:
                return Chance(dict.fromkeys("abc", 1 / 3))
            if len(history) == 1:
                return Decision(0, "blind", ("l", "r"))
            won = {"a": 0.1, "b": 0.2, "c": -0.3}[history[0]]
            return Terminal((won, -won))

    check(compile_game(Cancelling()))


def test_the_error_is_a_game_error() -> None:
    assert issubclass(InvariantError, GameError)


def test_the_order_of_entries_is_checked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever pieces begin, every row must ascend from its first entry to its last one."""
    monkeypatch.setattr(entries, "TOGETHER", 3)
    part = compile_game("kuhn", cut=False).form.operator[0]
    reader: Any = SimpleNamespace(sequence=str)
    entries.check_entry_order(part, reader)
    tried = 0
    for offset, rows, count in zip(part.offset, part.rows, part.entries, strict=True):
        for here in range(offset, offset + rows * (count - 1)):
            column = part.column.copy()
            column[:, [here, here + rows]] = column[:, [here + rows, here]]
            with pytest.raises(InvariantError, match="the columns of"):
                entries.check_entry_order(part._replace(column=column), reader)
            tried += 1
    assert tried > 20
