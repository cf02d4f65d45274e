"""Checks of a compiled game against the list of invariants in ``docs/data-model.md``.

:data:`INVARIANTS` has one row per line of that list, in the same order; there is one module per
group.  The function of a row returns a description of the error, or None.  It may rely on the rows
above it, so no function follows an index that has not been checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import InvariantError
from ..model.arrays import SequenceForm
from ..model.game import CompiledGame
from ..model.labels import InfosetLabels
from . import arrays, blocks, cards, hands, labels, layout, merged, payoff, public, ties, tree
from .cards import CardReader
from .public import PublicReader
from .reader import Reader

__all__ = ["INVARIANTS", "Invariant", "check", "check_cards"]


def check(game: CompiledGame, *, expand: bool = False) -> None:
    """Check every invariant of a compiled game, in the order of the list.

    Invariants of histories are checked if the game was compiled from histories.  For private hands
    x public tree they follow from the other invariants, which need no expanded game.

    Args:
        game: The game.
        expand: Whether to check the whole list: expand private hands x public tree, and make
            labels that are otherwise made on demand.

    Raises:
        InvariantError: An invariant is broken; the message has its number and name, and the
            history, infoset or sequence at fault.
    """
    found = kinds_of(game.form)
    if game.histories is not None:
        found.add("histories")
    if game.public is not None:
        found.add("public")
    if game.merged is not None:
        found.add("merged")
    if game.tied_to is not None:
        found.add("ties")
    if not isinstance(game.infoset_labels, InfosetLabels):
        found.add("labels")
    kind = Reader if game.public is None else PublicReader
    run(kind(game, game.form), [row for row in INVARIANTS if row.of in found])
    if expand:
        # The public tree must be checked before it is expanded.
        expanded = kind(game, game.form, expand=True)
        left = {"histories", "labels"} - found
        run(expanded, [row for row in INVARIANTS if row.number[0] == "A" or row.of in left])


def check_cards(form: SequenceForm) -> None:
    """Check the payoffs of the trunk of a game of cards, or of one of its chunks: lines C.

    Raises:
        InvariantError: An invariant is broken; as in :func:`check`.
    """
    run(CardReader(form), [row for row in INVARIANTS if row.of == "cards"])


def run(reader: Any, rows: list[Invariant]) -> None:
    """Check some rows of the list.

    Raises:
        InvariantError: An invariant is broken; as in :func:`check`.
    """
    for row in rows:
        if (wrong := row.check(reader)) is not None:
            raise InvariantError(f"{row.number} ({row.name}): {wrong}")


def kinds_of(form: SequenceForm) -> set[str]:
    """Values of ``Invariant.of`` that apply to a sequence form and the parts of its operator."""
    return {"form", *(part.kind for part in form.operator)}


def check_merged_form(reader: Reader) -> str | None:
    """The merged form is a sequence form."""
    small = merged.merged_of(reader)[1]
    try:
        kinds = kinds_of(small.form)
        run(small, [row for row in INVARIANTS if row.of in kinds and row.number[0] in "SHBP"])
    except InvariantError as error:
        return str(error)
    return None


class Invariant(NamedTuple):
    """One line of the list."""

    number: str
    """Its number in ``docs/data-model.md``."""
    name: str
    """A name of a few words."""
    check: Callable[[Any], str | None]
    """Returns a description of the error, or None."""
    of: str = "form"
    """The part of a game that the row is about; it applies to games with that part.  All games
    have a ``form``."""


INVARIANTS = (
    Invariant("A1", "dtypes and shapes", arrays.check_array),
    Invariant("A2", "contiguous arrays", arrays.check_contiguous),
    Invariant("A3", "whole numbers are indices", arrays.check_size),
    Invariant("T1", "parents come first", tree.check_parent, "histories"),
    Invariant("T2", "children are ranges", tree.check_child_ranges, "histories"),
    Invariant("T3", "parent and first_child agree", tree.check_child, "histories"),
    Invariant("T4", "players", tree.check_player, "histories"),
    Invariant("T5", "infosets of nodes", tree.check_infoset, "histories"),
    Invariant("T6", "terminals are the leaves", tree.check_leaf, "histories"),
    Invariant("T7", "chance outcomes", tree.check_outcome, "histories"),
    Invariant("T8", "outcomes of siblings differ", tree.check_equal_outcomes, "histories"),
    Invariant("T9", "terminals are listed", tree.check_terminal, "histories"),
    Invariant("T10", "utilities are finite", tree.check_utility, "histories"),
    Invariant("T11", "chance probabilities", tree.check_negative_chance, "histories"),
    Invariant("T12", "chance sums to 1", tree.check_chance_sum, "histories"),
    Invariant("T13", "sure steps", tree.check_sure_step, "histories"),
    Invariant("S1", "player ranges", layout.check_player_ranges),
    Invariant("S2", "no empty bucket", layout.check_empty_bucket),
    Invariant("S3", "order of buckets", layout.check_bucket_order),
    Invariant("S4", "buckets tile the infosets", layout.check_infoset_tiles),
    Invariant("S5", "buckets tile the sequences", layout.check_sequence_tiles),
    Invariant("S6", "parent of the same player", layout.check_parent_owner),
    Invariant("S7", "parent at a level above", layout.check_parent_level),
    Invariant("S8", "owner acts", layout.check_owner, "histories"),
    Invariant("S9", "infosets have histories", layout.check_infoset_use, "histories"),
    Invariant("S10", "children are actions", layout.check_child_count, "histories"),
    Invariant("S11", "perfect recall", layout.check_recall, "histories"),
    Invariant("H1", "hands are counted", hands.check_hand_rank),
    Invariant("H2", "masks of buckets", hands.check_mask),
    Invariant("H3", "lanes are hands x nodes", hands.check_lanes),
    Invariant("B1", "blocks tile the terminals", blocks.check_terminal_tiles, "blocks"),
    Invariant("B2", "programs tile the code", blocks.check_program_ranges, "blocks"),
    Invariant("B3", "programs can be read", blocks.check_program, "blocks"),
    Invariant("B4", "places of blocks", blocks.check_block_sequences, "blocks"),
    Invariant("B5", "hands of programs", blocks.check_hand, "blocks"),
    Invariant("B6", "order of blocks", blocks.check_order, "blocks"),
    Invariant("B7", "groups tile the order", blocks.check_group, "blocks"),
    Invariant("B8", "groups are apart", blocks.check_shared_sequence, "blocks"),
    Invariant("B9", "weights are finite", blocks.check_weight, "blocks"),
    Invariant("C1", "arrays of cards", cards.check_shapes, "cards"),
    Invariant("C2", "classes tile the kinds", cards.check_classes, "cards"),
    Invariant("C3", "weights of hands", cards.check_weights, "cards"),
    Invariant("C4", "the same cards", cards.check_same, "cards"),
    Invariant("C5", "walks can be read", cards.check_walk_ranges, "cards"),
    Invariant("C6", "hands of walks", cards.check_walk_hands, "cards"),
    Invariant("C7", "groups of terminals", cards.check_groups, "cards"),
    Invariant("C8", "sequences of terminals", cards.check_sequences, "cards"),
    Invariant("C9", "amounts", cards.check_amounts, "cards"),
    Invariant("P1", "payoff slices", payoff.check_slice_ranges, "payoff"),
    Invariant("P2", "slices tile the entries", payoff.check_slice_tiles, "payoff"),
    Invariant("P3", "payoff rows", payoff.check_row_order, "payoff"),
    Invariant("P4", "payoff columns", payoff.check_column, "payoff"),
    Invariant("P5", "order of entries", payoff.check_entry_order, "payoff"),
    Invariant("P6", "payoff values are finite", payoff.check_value, "payoff"),
    Invariant("P7", "payoffs equal the tree's", payoff.check_payoff, "histories"),
    Invariant("V1", "prior", public.check_prior, "public"),
    Invariant("V2", "parents and children", public.check_parents_and_children, "public"),
    Invariant("V3", "players and payoffs", public.check_actor, "public"),
    Invariant("V4", "public steps", public.check_edge, "public"),
    Invariant("V5", "chance and weight tables", public.check_step, "public"),
    Invariant("V6", "weights are products", public.check_weight, "public"),
    Invariant("V7", "public chance sums to 1", public.check_chance_sum, "public"),
    Invariant("V8", "public utilities are finite", public.check_utility, "public"),
    Invariant("V9", "buckets of public nodes", public.check_bucket, "public"),
    Invariant("V10", "ranks of public nodes", public.check_rank, "public"),
    Invariant("V11", "parents by hand", public.check_parent, "public"),
    Invariant("V12", "payoffs equal the public tree's", public.check_payoff, "public"),
    Invariant("M1", "merged form", check_merged_form, "merged"),
    Invariant("M2", "players are kept", merged.check_sequence_map, "merged"),
    Invariant("M3", "actions are kept", merged.check_action, "merged"),
    Invariant("M4", "parents are kept", merged.check_parent, "merged"),
    Invariant("M5", "merged sequences are used", merged.check_merged_use, "merged"),
    Invariant("M6", "payoffs are shared", merged.check_payoff, "merged"),
    Invariant("R1", "strategies are shared", ties.check_shared, "ties"),
    Invariant("R2", "nobody is absent-minded", ties.check_absent_minded, "ties"),
    Invariant("L1", "label counts", labels.check_count),
    Invariant("L2", "infoset labels", labels.check_label, "labels"),
    Invariant("L3", "action labels", labels.check_actions, "labels"),
    Invariant("L4", "outcome labels", labels.check_outcome_label),
    Invariant("L5", "public labels", labels.check_public_label, "public"),
    Invariant("L6", "hands are outcomes", labels.check_outcome, "public"),
)
"""The list, in the order in which it is checked."""
