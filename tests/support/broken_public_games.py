"""Malformed games of private hands x public tree, merged or not, with their errors' texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from support.spoiling import (
    Bad,
    Spoil,
    both,
    cast,
    compiled,
    form,
    labels,
    merged,
    public,
    whole,
    with_part,
    within,
)
from tensorcfr import FlatGame
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.model.flat_game import Merged
from tensorcfr.payoff import PayoffBlocks


def without_a_hand(game: FlatGame) -> FlatGame:
    """The second bucket leaves out hand 3, but the programs do not."""
    form = game.form
    mask = np.concatenate([form.hand_rank, [[0, 1, 2, 3, 3]]])
    block = form.part(PayoffBlocks).block.copy()
    block[:, 7] = 1
    block[1:, 3] -= 1
    form = form._replace(
        hand_rank=mask,
        bucket_mask=np.array([1, 0]),
        bucket_lanes=np.array([3, 4]),
        bucket_infoset=np.array([0, 3]),
        bucket_sequence=np.array([1, 8]),
        player_infosets=np.array([0, 3, 7]),
        player_sequences=np.array([0, 7, 16]),
        infoset_parent=np.array([0, 0, 0, 7, 7, 7, 7], dtype=np.uint32),
    )
    part = form.part(PayoffBlocks)._replace(block=block - [0, 0, 0, 0, 2, 0, 0, 0, 0])
    return replace(game, form=with_part(form, part))


def other_hands(game: FlatGame) -> FlatGame:
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


def other_parents(game: FlatGame) -> FlatGame:
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

    def spoil(game: FlatGame) -> FlatGame:
        assert game.public is not None
        return replace(game, public=game.public._replace(**labels))

    return spoil


def hands(own: tuple[Any, ...]) -> Spoil:
    """Change the hands of player 0."""
    return names(hands=(own, ("J", "Q", "K")))


ROWS = [
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
            form=with_part(
                game.form,
                compiled("blocks")
                .form.part(PayoffBlocks)
                ._replace(player_groups=np.zeros(4, np.int64)),
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
    Bad("B3", form("blocks.code", 76, to=3), "program 2: blocks.code[87] is 2", "blocks"),
    Bad("B3", form("blocks.code", 76, to=1), "program 2: blocks.code[81] is 1", "blocks"),
    Bad("B3", form("blocks.code", 115, to=-1), "program 3: blocks.code[115] is -1", "blocks"),
    Bad("B3", form("blocks.code", 84, to=1), "program 2: blocks.code[84] is 1", "blocks"),
    Bad("B3", form("blocks.code", 86, to=2), "program 2: blocks.code[86] is 2", "blocks"),
    Bad(
        "B3",
        form("blocks.program_offset", 1, to=39),
        "program 0: the program ends at blocks.code[38], not [39]",
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
        "a program of block 1 has hand 3 of player 0, which mask 1 leaves out",
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
        form("payoff.column", 0, 0, to=18),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')) differ",
        "kuhn",
    ),
    Bad(
        "V12",
        public("coefficient", 1, to=2.0),
        "the payoffs of sequence 4 ('bet' at infoset 0 ('J')) differ",
        "kuhn",
    ),
    Bad(
        "V12",
        public("prior", [0, 0], [1, 2], to=[1 / 8, 5 / 24]),
        "the payoffs of sequence 1 ('pass' at infoset 0 ('J')) differ",
        "kuhn",
    ),
    Bad(
        "V12",
        form("blocks.weight", 96 + 2, to=0.1),
        "the payoffs of sequence 9 (the empty one of player 1) differ",
        "blocks",
    ),
    Bad(
        "V12",
        form("blocks.block", [1, 2], [2, 2], to=[1, 0]),
        "the payoffs of sequence 5 ('bet' at infoset 0 ('a1')) differ",
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
        "sequence 3 ('pass' at infoset 2 ('b1')) of player 0 maps to 6",
        "suited",
    ),
    Bad(
        "M2",
        merged("sequence", 3, to=0),
        "sequence 3 ('pass' at infoset 2 ('b1')) of player 0 maps to 0",
        "suited",
    ),
    Bad(
        "M3",
        merged("sequence", 3, to=2),
        "the actions of infoset 2 ('b1') map to [2, 3]",
        "suited",
    ),
    Bad(
        "M3",
        merged("sequence", [1, 5], to=[3, 1]),
        "the actions of infoset 0 ('a1') map to [3, 1]",
        "suited",
    ),
    Bad(
        "M4",
        other_parents,
        "infoset 78 ('Jh cc/Js rr') maps to infoset 71 of parent 57, but its parent maps to 29",
        "leduc",
    ),
    Bad(
        "M5",
        merged("sequence", slice(0, 9), to=[0, 1, 1, 1, 1, 3, 3, 3, 3]),
        "no sequence maps to merged sequence 2 (action 0 at infoset 1)",
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
    Bad(
        "M7",
        merged("payoff.value", 0, to=0.1),
        "the regrets of sequence 0 (the empty one of player 0) and of merged sequence 0 differ",
        "goofspiel(cards=4)",
    ),
    Bad("L5", hands(("J", "Q")), "there are [2, 3] hands, not [3, 3]", "kuhn"),
    Bad("L5", hands(("J", "Q", "J")), "'J' is number 0 and number 2", "kuhn"),
    Bad("L5", names(edges=("pass", 3)), "3 is of type int, not str", "kuhn"),
    Bad("L5", names(node_labels=("", "p")), "there are 2 labels for 9 public nodes", "kuhn"),
    Bad("L5", names(node_labels=("p", "p") + (None,) * 7), "'p' is number 0 and number 1", "kuhn"),
    Bad(
        "L5",
        names(hands=(("1", "2", "3", "4"), ("1", "2", "3 1x1", "4"))),
        "two infosets may have the same label: the hand '3 1x1' begins with the hand '3'",
        "lazy",
    ),
    Bad(
        "L5",
        names(edges=(*map(str, range(8)), "liar 8")),
        "two infosets may have the same label: the public step 'liar 8' contains a space",
        "lazy",
    ),
    Bad(
        "L5",
        names(node_labels=("root", " 1x1") + (None,) * 509),
        "two infosets may have the same label: the public label ' 1x1' looks like labels of steps, "
        "which begin with a space",
        "lazy",
    ),
    Bad(
        "L5",
        names(
            hands=(("1", "2", "3", "4"), ("1", "2", "3", "41")),
            node_labels=tuple(map(str, range(511))),
        ),
        "two infosets may have the same label: the hand '41' begins with the hand '4'",
        "lazy",
    ),
    Bad(
        "L6",
        names(hands=(("J", "Q", "A"), ("J", "Q", "K"))),
        "'A' is none of the outcome labels",
        "kuhn",
    ),
    Bad("L6", labels("outcome_labels", 5, "x"), "'tails' is none of the outcome labels", "suited"),
    Bad(
        "H3",
        form("bucket_stride", 0, to=2**32),
        f"bucket 0 has 3 lanes for 3 hands with {2**32} public nodes each",
        "kuhn",
    ),
    Bad("B1", form("blocks.block", 0, 1, to=2**32), f"block 0 has {2**32} terminals", "blocks"),
]
"""Their games are without a history tree, unless their names say so."""
