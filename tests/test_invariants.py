"""One malformed compiled game per invariant of ``docs/data-model.md``, with its error's text."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from random_games import random_game, random_public_tree_game

from tensorcfr.compiled import CHANCE, TERMINAL, CompiledGame, Merged
from tensorcfr.compilers import compile_game, payoff_blocks, public_game
from tensorcfr.errors import GameError, InvariantError
from tensorcfr.invariants import INVARIANTS, check
from tensorcfr.rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal

LIST = Path(__file__).parents[1] / "docs" / "data-model.md"

Spoil = Callable[[CompiledGame], CompiledGame]


class Forked(Game):
    """One player, who does not see the coin, has infosets of one level with 2 and 3 actions."""

    n_players = 1

    def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
        if history == ():
            return Chance({"heads": 0.5, "tails": 0.5})
        if len(history) == 1:
            return Decision(0, "top", ("l", "r"))
        if len(history) == 2:
            return Decision(0, history[1], ("a", "b") if history[1] == "l" else ("a", "b", "c"))
        return Terminal((1.0,))


class Suited(PublicTreeGame):
    """Two suits of two ranks, a public coin, and a bet: has symmetries and public chance."""

    hands = [("a1", "a2", "b1", "b2")] * 2
    prior = (np.ones((4, 4)) - np.eye(4)) / 12

    def node(self, state: tuple[str, ...]) -> Chance | Decision | Payoff:
        if not state:
            return Decision(0, None, ("pass", "bet"))
        if state == ("bet",):
            return Decision(1, None, ("fold", "call"))
        if state in (("pass",), ("bet", "call")):
            return Chance({"heads": 0.5, "tails": 0.5})
        return Payoff(1.0 + len(state), "fold" if state[-1] == "fold" else "show")

    def matrix(self, key: Hashable) -> np.ndarray:
        high = np.array([1, 2, 1, 2])
        won = np.ones((4, 4)) if key == "fold" else np.sign(np.subtract.outer(high, high))
        return np.stack([won, -won]).astype(float)


@cache
def compiled(name: str) -> CompiledGame:
    """A game by name; ``histories:`` before it for one that keeps its history tree."""
    if name.startswith("histories:"):
        game = compiled(name.removeprefix("histories:"))
        return replace(game, histories=game.tree)
    if name == "lazy":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(public_game, "MANY_LABELS", 0)
            return compile_game("liars_dice(faces=4)")
    if name == "blocks":
        # Where a block always pays, merged games and their empty sequences have blocks too.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payoff_blocks, "ENTRY_NS", 1e9)
            return compile_game(Suited())
    rules: dict[str, Any] = {"forked": Forked(), "suited": Suited()}
    return compile_game(rules.get(name, name))


def changed(view: str, field: str, at: Any, to: Any) -> Spoil:
    """Change one value of an array; a part of a view is named ``part.field``."""

    def spoil(game: CompiledGame) -> CompiledGame:
        def change(array: np.ndarray) -> np.ndarray:
            array = array.copy()
            array[at] = to
            return array

        return within(view, field, change)(game)

    return spoil


def within(view: str, field: str, change: Callable[[np.ndarray], Any]) -> Spoil:
    """Change a whole array."""

    def spoil(game: CompiledGame) -> CompiledGame:
        if view == "merged":
            assert game.merged is not None
            if field == "sequence":
                return replace(game, merged=Merged(game.merged.form, change(game.merged.sequence)))
            small = replace(game, form=game.merged.form)
            form = within("form", field, change)(small).form
            return replace(game, merged=Merged(form, game.merged.sequence))
        if view == "public":
            assert game.public is not None
            tree = game.public.tree
            tree = tree._replace(**{field: change(getattr(tree, field))})
            return replace(game, public=game.public._replace(tree=tree))
        record: Any = game.histories if view == "tree" else game.form
        part, _, name = field.rpartition(".")
        inner = getattr(record, part) if part else record
        inner = inner._replace(**{name: change(getattr(inner, name))})
        attribute = "histories" if view == "tree" else "form"
        new: Any = {attribute: record._replace(**{part: inner}) if part else inner}
        return replace(game, **new)

    return spoil


def tree(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the history tree."""
    return changed("tree", field, at, to)


def form(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the sequence form."""
    return changed("form", field, at, to)


def public(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the public tree."""
    return changed("public", field, at, to)


def merged(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the merged form."""
    return changed("merged", field, at, to)


def whole(view: str = "form", **arrays: Callable[[np.ndarray], Any]) -> Spoil:
    """Change whole arrays of a view; a part of it is named ``part__field``."""
    return both(*(within(view, name.replace("__", "."), f) for name, f in arrays.items()))


def labels(field: str, at: int, to: Any) -> Spoil:
    """Change one label."""

    def spoil(game: CompiledGame) -> CompiledGame:
        old = getattr(game, field)
        new: Any = {field: (*old[:at], to, *old[at + 1 :])}
        return replace(game, **new)

    return spoil


def both(*steps: Spoil) -> Spoil:
    """One change after the other."""

    def spoil(game: CompiledGame) -> CompiledGame:
        for step in steps:
            game = step(game)
        return game

    return spoil


def swap(a: int, b: int) -> Callable[[np.ndarray], np.ndarray]:
    """Exchange two columns (the only axis, or the last)."""

    def swapped(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[..., [a, b]] = array[..., [b, a]]
        return array

    return swapped


class Bad(NamedTuple):
    """One row: an invariant, how a game comes to break it, and the text of the error."""

    number: str
    spoil: Spoil
    message: str
    game: str = "histories:kuhn"


def cast(dtype: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(dtype)


def unlabelled(game: CompiledGame) -> CompiledGame:
    return replace(game, infoset_labels=(), infoset_actions=())


def without_a_hand(game: CompiledGame) -> CompiledGame:
    """The second bucket leaves out hand 3, but the programs do not."""
    form = game.form
    mask = np.concatenate([form.hand_rank, [[0, 1, 2, 3, 3]]])
    block = form.blocks.block.copy()
    block[:, 7] = 1
    form = form._replace(
        hand_rank=mask,
        bucket_mask=np.array([1, 0]),
        bucket_lanes=np.array([3, 4]),
        bucket_infoset=np.array([0, 3]),
        bucket_sequence=np.array([1, 8]),
        player_infosets=np.array([0, 3, 7]),
        player_sequences=np.array([0, 7, 16]),
        infoset_parent=np.array([0, 0, 0, 7, 7, 7, 7], dtype=np.uint32),
        blocks=form.blocks._replace(block=block - [0, 0, 0, 0, 2, 0, 0, 0, 0]),
    )
    return replace(game, form=form)


def other_hands(game: CompiledGame) -> CompiledGame:
    """Two buckets of one player, level and number of actions in each other's place."""
    assert game.public is not None
    form, bucket = game.form, game.public.tree.bucket
    alike = (np.diff(form.bucket_level) == 0) & (np.diff(form.bucket_actions) == 0)
    one = int(
        np.flatnonzero(
            alike
            & (
                np.diff(
                    form.player_buckets.searchsorted(
                        np.arange(len(form.bucket_level)), side="right"
                    )
                )
                == 0
            )
        )[0]
    )
    swapped = np.where(bucket == one, one + 1, np.where(bucket == one + 1, one, bucket))
    tree = game.public.tree._replace(bucket=swapped.astype(bucket.dtype))
    return replace(game, public=game.public._replace(tree=tree))


def other_parents(game: CompiledGame) -> CompiledGame:
    """Two merged infosets of one bucket in each other's place, below the first level."""
    assert game.merged is not None
    small = game.merged.form
    bucket = int(np.flatnonzero(small.bucket_level == 2)[0])
    first, lanes = int(small.bucket_sequence[bucket]), int(small.bucket_lanes[bucket])
    sequence = game.merged.sequence.copy()
    for action in range(int(small.bucket_actions[bucket])):
        begin = first + action * lanes
        inside = (sequence >= begin) & (sequence < begin + lanes)
        sequence[inside] = begin + lanes - 1 - (sequence[inside] - begin)
    return replace(game, merged=Merged(small, sequence))


def names(**labels: Any) -> Spoil:
    """Change labels of the public tree."""

    def spoil(game: CompiledGame) -> CompiledGame:
        assert game.public is not None
        return replace(game, public=game.public._replace(**labels))

    return spoil


def hands(own: tuple[Any, ...]) -> Spoil:
    """Change the hands of player 0."""
    return names(hands=(own, ("J", "Q", "K")))


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
        "node 57 (history [K, Q, pass, bet, bet]) is no terminal and has 0 children",
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
        "infoset 3 ('Jpb') of player 0 has the parent 14, which is none of his sequences",
    ),
    Bad(
        "S6",
        form("infoset_parent", 6, to=0),
        "infoset 6 ('Jb') of player 1 has the parent 0, which is none of his sequences",
    ),
    Bad(
        "S7",
        form("infoset_parent", 3, to=0),
        "infoset 3 ('Jpb') is at level 1, but its parent, sequence 0 (the empty one of "
        "player 0), puts it at level 0",
    ),
    Bad(
        "S7",
        form("infoset_parent", 3, to=7),
        "infoset 3 ('Jpb') is at level 1, but its parent, sequence 7 ('pass' at infoset 3 "
        "('Jpb')), puts it at level 2",
    ),
    Bad(
        "S7",
        form("bucket_level", 2, to=1),
        "infoset 6 ('Jb') is at level 1, but its parent, sequence 13 (the empty one of "
        "player 1), puts it at level 0",
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
        "player 0 comes to node 23 (history [J, Q, pass, bet]) by sequence 1 ('pass' at "
        "infoset 0 ('J')), but the parent of infoset 4 ('Qpb') is sequence 2 ('pass' at "
        "infoset 1 ('Q'))",
    ),
    Bad(
        "S11",
        form("infoset_parent", 3, to=2),
        "player 0 comes to node 23 (history [J, Q, pass, bet]) by sequence 1 ('pass' at "
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
        "slice 2 of player 0 has rows 8 to 13, which are not all his sequences",
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
        "entry 0, of sequence 1 ('pass' at infoset 0 ('J')), has column 1, which is no "
        "sequence of player 1",
    ),
    Bad(
        "P4",
        form("payoff.column", 0, 59, to=26),
        "entry 59, of sequence 25 ('bet' at infoset 11 ('Kp')), has column 26, which is no "
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
        form("payoff.value", 19, to=0.0),
        "the payoffs of sequence 8 ('pass' at infoset 4 ('Qpb')) differ",
    ),
    Bad(
        "P7",
        whole(payoff__value=swap(0, 1)),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')) differ",
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
        "infoset 3 of player 0 has the parent 14, which is none of his sequences",
    ),
    Bad(
        "S7",
        both(unlabelled, form("infoset_parent", 3, to=7)),
        "infoset 3 is at level 1, but its parent, sequence 7 (action 0 at infoset 3), puts "
        "it at level 2",
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
    Bad(
        "A1",
        within("public", "edge", cast(np.float64)),
        "public.edge is float64, not a signed integer",
        "kuhn",
    ),
    Bad(
        "A1",
        within("public", "prior", lambda array: array[:2]),
        "public.chance_table has shape (0, 3, 3), not (tables, hands of player 0, "
        "hands of player 1) = (0, 2, 3)",
        "kuhn",
    ),
    Bad(
        "A1",
        within("merged", "payoff.rows", cast(np.int32)),
        "merged.payoff.rows is int32, not int64",
        "suited",
    ),
    Bad(
        "A1",
        within("merged", "sequence", cast(np.int64)),
        "merged.sequence is int64, not uint32",
        "suited",
    ),
    Bad(
        "A1",
        whole(blocks__block=lambda array: array[:, :8]),
        "blocks.block has shape (3, 8), not (blocks, 9) = (3, 9)",
        "blocks",
    ),
    Bad(
        "A2",
        within("public", "prior", np.asfortranarray),
        "public.prior is not contiguous in C order",
        "kuhn",
    ),
    Bad(
        "S3",
        form("bucket_mask", 10, to=99),
        "bucket 10 has (level, actions, mask) (2, 2, 99), but bucket 11 has (2, 2, 2)",
        "leduc",
    ),
    Bad(
        "H1",
        form("hand_rank", 0, 2, to=3),
        "hand_rank[0] is [0, 1, 3, 3], which does not count from 0",
    ),
    Bad(
        "H1",
        form("hand_rank", 0, 0, to=1),
        "hand_rank[0] is [1, 1, 2, 3], which does not count from 0",
    ),
    Bad("H2", form("bucket_mask", 2, to=1), "bucket_mask[2] is 1, not 0 to 0"),
    Bad(
        "H3",
        form("bucket_stride", 2, to=3),
        "bucket 2 has 6 lanes for 3 hands with 3 public nodes each",
    ),
    Bad("B1", form("blocks.block", 1, 1, to=0), "block 1 has 0 terminals", "blocks"),
    Bad("B1", form("blocks.block", 1, 0, to=2), "block 1 begins at terminal 2, not 1", "blocks"),
    Bad(
        "B1",
        form("blocks.block", 2, 1, to=2),
        "the blocks end at terminal 4, but there are 3 coefficients",
        "blocks",
    ),
    Bad(
        "B1",
        lambda game: replace(
            game,
            form=game.form._replace(
                blocks=compiled("blocks").form.blocks._replace(player_groups=np.zeros(4, np.int64))
            ),
        ),
        "there are 3 blocks for 3 players",
        "kuhn(players=3)",
    ),
    Bad(
        "B2",
        form("blocks.program_offset", 4, to=115),
        "blocks.program_offset ends at 115, not 116",
        "blocks",
    ),
    Bad(
        "B2",
        form("blocks.program_offset", 1, to=77),
        "blocks.program_offset gives program 1 the range 77 to 76",
        "blocks",
    ),
    Bad(
        "B2",
        form("blocks.block", 2, 2, to=2),
        "block 2 has matrix 2, but there are 4 programs",
        "blocks",
    ),
    Bad("B3", form("blocks.code", 76, to=3), "blocks.code[87], of program 2, is 2", "blocks"),
    Bad("B3", form("blocks.code", 76, to=1), "blocks.code[81], of program 2, is 1", "blocks"),
    Bad("B3", form("blocks.code", 115, to=-1), "blocks.code[115], of program 3, is -1", "blocks"),
    Bad("B3", form("blocks.code", 84, to=1), "blocks.code[84], of program 2, is 1", "blocks"),
    Bad("B3", form("blocks.code", 86, to=2), "blocks.code[86], of program 2, is 2", "blocks"),
    Bad(
        "B3",
        form("blocks.program_offset", 1, to=39),
        "program 0 ends at blocks.code[38], not [39]",
        "blocks",
    ),
    Bad(
        "B4",
        form("blocks.block", 1, 3, to=9),
        "block 1 has sequence 9, which is not player 0's",
        "blocks",
    ),
    Bad("B4", form("blocks.block", 1, 8, to=1), "block 1 has mask 1 for player 1", "blocks"),
    Bad(
        "B4",
        form("blocks.block", 0, 6, to=1),
        "block 0 has 1 terminals at stride 1 after sequence 9 (the empty one of player 1)",
        "blocks",
    ),
    Bad(
        "B4",
        form("blocks.block", 1, 5, to=2),
        "block 1 has stride 2 for player 0, but bucket 0 has 1",
        "blocks",
    ),
    Bad(
        "B4",
        form("blocks.block", 1, 4, to=11),
        "block 1 has 1 terminals after sequence 11 ('fold' at infoset 5 ('a2 bet')), "
        "which is number 1 of the 1 of its hand",
        "blocks",
    ),
    Bad(
        "B4",
        both(
            whole(hand_rank=lambda array: np.concatenate([array, array])),
            form("blocks.block", 1, 7, to=1),
        ),
        "block 1 has mask 1 for player 0, but bucket 0 has 0",
        "blocks",
    ),
    Bad("B5", form("blocks.code", 115, to=4), "a program of block 0 has hand 4 of 4", "blocks"),
    Bad(
        "B5",
        without_a_hand,
        "block 1 has 1 terminals after sequence 5 ('bet' at infoset 1 ('a2')), which "
        "is number 1 of the 1 of its hand",
        "blocks",
    ),
    Bad("B6", form("blocks.order", 1, 2, to=0), "blocks.order[1] does not list block 2", "blocks"),
    Bad(
        "B7",
        form("blocks.player_groups", 1, to=6),
        "blocks.player_groups gives player 1 the range 6 to 5",
        "blocks",
    ),
    Bad(
        "B7",
        form("blocks.player_groups", 1, to=1),
        "the groups of player 0 end at 1, but there are 3 blocks",
        "blocks",
    ),
    Bad(
        "B7",
        form("blocks.group_offset", 2, to=1),
        "blocks.group_offset gives group 1 the range 1 to 1",
        "blocks",
    ),
    Bad(
        "B7", form("blocks.group_offset", 5, to=7), "blocks.group_offset ends at 7, not 6", "blocks"
    ),
    Bad(
        "B8",
        whole(blocks__group_offset=lambda array: np.array([0, 2, 3, 4, 5, 6])),
        "blocks 1 and 2 of player 0 are in two groups, and both end sequence 5 ('bet' "
        "at infoset 0 ('a1'))",
        "blocks",
    ),
    Bad(
        "B8",
        whole(blocks__order=lambda array: np.ascontiguousarray(array[:, [1, 0, 2]])),
        "blocks 1 and 2 of player 0 are in two groups, and both end sequence 5 ('bet' "
        "at infoset 0 ('a1'))",
        "blocks",
    ),
    Bad("B9", form("blocks.coefficient", 1, to=np.inf), "blocks.coefficient[1] is inf", "blocks"),
    Bad("B9", form("blocks.weight", 2, to=np.nan), "blocks.weight[2] is nan", "blocks"),
    Bad(
        "P7",
        form("blocks.coefficient", 1, to=3.1),
        "the payoffs of sequence 5 ('bet' at infoset 0 ('a1')) differ",
        "histories:blocks",
    ),
    Bad(
        "P7",
        form("blocks.weight", 96 + 2, to=0.1),
        "the payoffs of sequence 9 (the empty one of player 1) differ",
        "histories:blocks",
    ),
    Bad(
        "V1",
        lambda game: replace(game, form=compiled("blocks").form),
        "it has shape (3, 3), but there are 2 players with up to 4 hands",
        "kuhn",
    ),
    Bad("V1", public("prior", 0, 1, to=-1.0), "it holds -1.0", "kuhn"),
    Bad("V1", public("prior", 0, 1, to=0.25), "it sums to 1.0833333333333333", "kuhn"),
    Bad(
        "V2",
        public("parent", 3, to=3),
        "node 3 has the parent 3, which does not come before it",
        "kuhn",
    ),
    Bad("V2", public("first_child", 3, to=3), "first_child falls from 5 at node 2", "kuhn"),
    Bad(
        "V2",
        public("parent", 3, to=2),
        "node 3 has the parent 2, but is among the children of node 1",
        "kuhn",
    ),
    Bad(
        "V3",
        public("player", 4, to=2),
        "public node 4 (pass bet) has player 2 and 2 children",
        "kuhn",
    ),
    Bad(
        "V3",
        public("player", 4, to=TERMINAL),
        "public node 4 (pass bet) has player -2 and 2 children",
        "kuhn",
    ),
    Bad(
        "V3",
        public("payoff", 3, to=-1),
        "public node 3 (pass pass) has payoff -1, not 0 to 3",
        "kuhn",
    ),
    Bad("V3", public("payoff", 4, to=0), "public node 4 (pass bet) has payoff 0, not -1", "kuhn"),
    Bad("V3", public("matrix", 1, to=4), "payoff 1 has matrix 4 of 4", "kuhn"),
    Bad("V4", public("edge", 0, to=0), "public node 0 has edge 0, not -1", "kuhn"),
    Bad("V4", public("edge", 3, to=2), "public node 3 has edge 2, not 0 to 1", "kuhn"),
    Bad(
        "V4",
        public("edge", 4, to=0),
        "public node 3 and public node 4 (pass pass) are siblings with one label",
        "kuhn",
    ),
    Bad(
        "V5",
        public("chance", 3, to=-1),
        "public node 3 (pass heads) has chance -1, not 0 to 0",
        "suited",
    ),
    Bad("V5", public("chance", 5, to=0), "public node 5 (bet fold) has chance 0, not -1", "suited"),
    Bad(
        "V5",
        public("weight", 3, to=2),
        "public node 3 (pass heads) has weight 2, not 0 to 1",
        "suited",
    ),
    Bad(
        "V6",
        public("weight_table", 0, 0, 0, to=0.5),
        "the weights of the public root are not 1",
        "suited",
    ),
    Bad(
        "V6",
        public("weight", 5, to=1),
        "public node 5 (bet fold) has weight 1, but no chance led there from weight 0",
        "suited",
    ),
    Bad(
        "V6",
        public("chance_table", 0, 1, 2, to=0.4),
        "the weights of public node 3 (pass heads) are not those products",
        "suited",
    ),
    Bad(
        "V7",
        both(public("chance_table", 0, 1, 2, to=0.4), public("weight_table", 1, 1, 2, to=0.4)),
        "they sum to 0.8 at public node 1 (pass), for hands [1, 2]",
        "suited",
    ),
    Bad(
        "V7",
        both(public("chance_table", 0, 1, 2, to=-0.5), public("weight_table", 1, 1, 2, to=-0.5)),
        "-0.5 is among them at public node 1 (pass)",
        "suited",
    ),
    Bad(
        "V8",
        public("coefficient", 1, to=np.inf),
        "public node 5 (bet pass) pays [inf, -inf] for hands [0, 1]",
        "kuhn",
    ),
    Bad(
        "V8",
        public("matrix_table", 0, 0, 0, 1, to=np.nan),
        "public node 3 (pass pass) pays [nan, 1.0] for hands [0, 1]",
        "kuhn",
    ),
    Bad("V9", public("bucket", 1, to=3), "public node 1 (pass) has bucket 3, not 0 to 2", "kuhn"),
    Bad("V9", public("bucket", 3, to=2), "public node 3 (pass pass) has bucket 2, not -1", "kuhn"),
    Bad(
        "V9",
        public("bucket", 1, to=1),
        "public node 1 (pass), of player 1 with 2 actions, has bucket 1, of player 0 with 2",
        "kuhn",
    ),
    Bad(
        "V9",
        other_hands,
        "public node 9 (call call Jh) has hands [0, 2, 3, 4, 5], but bucket 1 has [1, 2, 3, 4, 5]",
        "leduc",
    ),
    Bad("V10", public("rank", 1, to=0), "rank 0 of bucket 2 has 2 public nodes", "kuhn"),
    Bad("V10", public("rank", 1, to=2), "public node 1 (pass) has rank 2 in bucket 2", "kuhn"),
    Bad(
        "V10", public("rank", 3, to=0), "public node 3 (pass pass) has rank 0 in bucket -1", "kuhn"
    ),
    Bad(
        "V11",
        form("infoset_parent", 3, to=2),
        "infoset 3, hand 0 at public node 4 (pass bet), has the parent 2, not sequence "
        "1 ('pass' at infoset 0 ('J'))",
        "kuhn",
    ),
    Bad(
        "V12",
        form("payoff.value", 19, to=0.0),
        "the payoffs of sequence 7 ('pass' at infoset 3 ('Jpb')), over all hands, differ",
        "kuhn",
    ),
    Bad(
        "V12",
        form("payoff.column", 0, 0, to=18),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')), over all hands, differ",
        "kuhn",
    ),
    Bad(
        "V12",
        public("coefficient", 1, to=2.0),
        "the payoffs of sequence 4 ('bet' at infoset 0 ('J')), over all hands, differ",
        "kuhn",
    ),
    Bad(
        "V12",
        public("prior", [0, 0], [1, 2], to=[1 / 8, 5 / 24]),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')), over all hands, differ",
        "kuhn",
    ),
    Bad(
        "V12",
        form("blocks.coefficient", 1, to=3.1),
        "the payoffs of sequence 5 ('bet' at infoset 0 ('a1')), over all hands, differ",
        "blocks",
    ),
    Bad(
        "V12",
        form("blocks.weight", 96 + 2, to=0.1),
        "the payoffs of sequence 9 (the empty one of player 1), over all hands, differ",
        "blocks",
    ),
    Bad(
        "V12",
        form("blocks.block", [1, 2], [2, 2], to=[1, 0]),
        "the payoffs of sequence 5 ('bet' at infoset 0 ('a1')), over all hands, differ",
        "blocks",
    ),
    Bad(
        "M1",
        merged("bucket_infoset", 1, to=1),
        "S4 (buckets tile the infosets): bucket 1 begins at infoset 1, not 2",
        "suited",
    ),
    Bad(
        "M1",
        merged("payoff.value", 3, to=np.nan),
        "P6 (payoff values are finite): entry 3, of sequence 4 (action 1 at infoset "
        "1), has value nan",
        "suited",
    ),
    Bad(
        "M2",
        within("merged", "sequence", lambda array: array[:-1]),
        "there are 17 for 18 sequences",
        "suited",
    ),
    Bad(
        "M2",
        merged("sequence", 3, to=6),
        "6 stands for sequence 3 ('pass' at infoset 2 ('b1')) of player 0",
        "suited",
    ),
    Bad(
        "M2",
        merged("sequence", 3, to=0),
        "0 stands for sequence 3 ('pass' at infoset 2 ('b1')) of player 0",
        "suited",
    ),
    Bad(
        "M3",
        merged("sequence", 3, to=2),
        "[2, 3] stand for the actions of infoset 2 ('b1')",
        "suited",
    ),
    Bad(
        "M3",
        merged("sequence", [1, 5], to=[3, 1]),
        "[3, 1] stand for the actions of infoset 0 ('a1')",
        "suited",
    ),
    Bad(
        "M4",
        other_parents,
        "infoset 71, of parent 57, stands for infoset 78 ('Jh cc/Js rr'), and 29 for its parent",
        "leduc",
    ),
    Bad(
        "M5",
        merged("sequence", slice(0, 9), to=[0, 1, 1, 1, 1, 3, 3, 3, 3]),
        "merged sequence 2 (action 0 at infoset 1) stands for none",
        "suited",
    ),
    Bad(
        "M6",
        merged("payoff.value", 3, to=0.1),
        "the payoffs of sequence 6 ('bet' at infoset 1 ('a2')) and of merged sequence 4 differ",
        "suited",
    ),
    Bad(
        "M6",
        merged("sequence", [2, 6], to=[1, 3]),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('a1')) and of merged sequence 1 differ",
        "suited",
    ),
    Bad(
        "M6",
        merged("blocks.coefficient", 1, to=3.1),
        "the payoffs of sequence 5 ('bet' at infoset 0 ('a1')) and of merged sequence 3 differ",
        "blocks",
    ),
    Bad("L5", hands(("J", "Q")), "there are [2, 3] hands, not [3, 3]", "kuhn"),
    Bad("L5", hands(("J", "Q", "J")), "'J' is number 0 and number 2", "kuhn"),
    Bad("L5", names(edges=("pass", 3)), "3 is of type int, not str", "kuhn"),
    Bad("L5", names(node_labels=("", "p")), "there are 2 labels for 9 public nodes", "kuhn"),
    Bad("L5", names(node_labels=("p", "p") + (None,) * 7), "'p' is number 0 and number 1", "kuhn"),
]

NAMES = {invariant.number: invariant.name for invariant in INVARIANTS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_broken_invariant_is_named_with_what_breaks_it(row: Bad) -> None:
    with pytest.raises(InvariantError) as raised:
        check(row.spoil(compiled(row.game)))
    # What P7 says after the sequence are figures of the weights.
    said = str(raised.value).partition(": under one and the same weights")[0]
    assert said == f"{row.number} ({NAMES[row.number]}): {row.message}"


def test_every_line_of_the_list_is_checked_and_has_a_row() -> None:
    written = re.findall(r"^- \*\*([A-Z]\d+)\*\*", LIST.read_text("utf-8"), re.MULTILINE)
    assert written == [invariant.number for invariant in INVARIANTS]
    assert set(written) == {row.number for row in ROWS}


def test_the_worked_example_of_the_list_is_true() -> None:
    """Its rows are ``| `field` | `[first values ... last values]` |``."""
    game = compiled("kuhn")
    arrays = game.tree._asdict() | game.form._asdict()
    rows = re.findall(r"^\| `(\w+)` \| `\[(.*)\]` \|$", LIST.read_text("utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == list(arrays)
    for name, shown in rows:
        begin, left_out, end = shown.partition("...")
        values = arrays[name].ravel().tolist()
        first, last = ([float(Fraction(value)) for value in part.split()] for part in (begin, end))
        assert values[: len(first)] == pytest.approx(first), name
        if left_out:
            assert values[-len(last) :] == pytest.approx(last), name
        else:
            assert len(values) == len(first), name


@pytest.mark.parametrize(
    "name", ["kuhn", "kuhn(players=3)", "leduc", "goofspiel", "matching_pennies", "forked"]
)
def test_compiled_games_pass(name: str) -> None:
    check(compiled(name))


@pytest.mark.parametrize("seed", range(20))
def test_random_games_pass(seed: int) -> None:
    check(compile_game(random_game(seed, n_players=1 + seed % 4, max_histories=60)))
    check(compile_game(random_public_tree_game(seed, n_players=2 + seed % 2)))


def test_a_game_without_decisions_passes() -> None:
    class Over(Game):
        def node(self, history: tuple[str, ...]) -> Terminal:
            return Terminal((1.0, -1.0))

    check(compile_game(Over()))


@pytest.mark.parametrize("name", ["kuhn", "kuhn(players=3)"])
def test_every_change_of_the_payoffs_is_found(name: str) -> None:
    game = compiled(name)
    for entry in range(0, len(game.form.payoff.value), 7):
        value = game.form.payoff.value[entry]
        with pytest.raises(InvariantError, match=r"^(P7|V12) "):
            check(form("payoff.value", entry, to=value + 1e-7)(game))


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
