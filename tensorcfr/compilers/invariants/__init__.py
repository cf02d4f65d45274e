"""Checks of a compiled game against the invariants in ``docs/reference/invariants.md``.

:func:`all_invariants` returns one row per line of that list, in the same order; there is one module
per group.  Invariants of payoffs are next to their arrays, in :mod:`tensorcfr.payoff`.  The
function of a row raises an :class:`~tensorcfr.errors.InvariantError` that describes the violation.
It may rely on the rows above it, so no function follows an index that has not been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple

from ..._util.violations import fail, named_after
from ...model.arrays import SequenceForm
from ...model.chunked_form import ChunkedForm
from ...model.flat_game import FlatGame
from ...payoff import KIND_OF_CLASS, KINDS
from . import (
    array_checks,
    chunk_checks,
    label_checks,
    layout_checks,
    merged_checks,
    payoff_checks,
    public_tree_checks,
    tree_checks,
)
from .reader import ChunkReader, Reader

__all__ = ["Invariant", "all_invariants", "check", "check_chunks", "check_form"]


def check(game: FlatGame, *, expand: bool = False) -> None:
    """Check every invariant of a compiled game, in the order of the list.

    Invariants of histories are checked if the game was compiled from histories.  For private hands
    x public tree they follow from the other invariants, which do not need an expanded game.

    Args:
        game: The game.
        expand: True to check the whole list: expand private hands x public tree, and make labels
            that are otherwise made on demand.

    Raises:
        InvariantError: An invariant is broken; the message has its number and name, and the
            history, infoset or sequence at fault.
    """
    if game.form.copies is not None:
        fail("only merged forms have copies")
    parts = kinds_of(game.form) | {*game.views, game.layout}
    if not game.joins_labels:
        parts.add("labels")
    rows = all_invariants()
    run(Reader(game.form, game), [row for row in rows if row.of in parts])
    if expand:
        # The public tree must be checked before it is expanded.
        expanded = Reader(game.form, game, expand=True)
        unchecked = {"tree", "labels"} - parts
        run(expanded, [row for row in rows if row.number[0] == "A" or row.of in unchecked])


def check_chunks(game: ChunkedForm, sequences: int | None = None) -> None:
    """Check trunk, shapes and chunks of a game: lines K.

    Args:
        game: The game in chunks.
        sequences: Number of sequences of the game that was cut, if they have been counted.

    Raises:
        InvariantError: An invariant is broken; as in :func:`check`.
    """
    run(ChunkReader(game, sequences), [row for row in all_invariants() if row.of == "chunks"])


def check_form(form: SequenceForm, *, but: Collection[str] = ()) -> None:
    """Check a sequence form and its payoff operator: lines S1 to S7, H, B, P and C.

    Args:
        form: The sequence form.
        but: Numbers of lines to leave out.

    Raises:
        InvariantError: An invariant is broken; as in :func:`check`.
    """
    kinds = kinds_of(form)
    rows = [row for row in all_invariants() if row.of in kinds and row.number[0] not in "AL"]
    run(Reader(form), [row for row in rows if row.number not in but])


def run(reader: Any, rows: list[Invariant]) -> None:
    """Check some rows of the list.

    Raises:
        InvariantError: An invariant is broken; as in :func:`check`.
    """
    for row in rows:
        with named_after(f"{row.number} ({row.name}): "):
            row.check(reader)


def kinds_of(form: SequenceForm) -> set[str]:
    """Return the values of ``Invariant.of`` that apply to a sequence form and the parts of its
    operator."""
    return {"form", *(part.kind for part in form.operator)}


def check_part(kind: str, row_check: Callable[[Any, Reader], None], reader: Reader) -> None:
    """Check an invariant of the part of the operator that has a kind."""
    row_check(reader.form.part(KINDS[kind]), reader)


def check_merged_form(reader: Reader) -> None:
    """Check that the merged form is a sequence form, and its copies are actions of one infoset."""
    check_form(reader.merged.form)
    merged_checks.check_copies(reader.merged)


def check_trunk(reader: ChunkReader) -> None:
    """Check that the trunk is a sequence form."""
    with named_after("trunk."):
        chunk_checks.check_form_arrays(reader.game.trunk, reader.game.n_players)
    with named_after("the trunk breaks "):
        check_form(reader.game.trunk)


def check_shapes(reader: ChunkReader) -> None:
    """Check that a shape is a sequence form with entries in place of the empty sequences."""
    for shape, form in reader.examples:
        with named_after(f"shape {shape} breaks "):
            check_form(form, but=chunk_checks.OF_WHOLE_GAMES)


class Invariant(NamedTuple):
    """Line of the list."""

    number: str
    """Number in the list."""
    name: str
    """Name of a few words."""
    check: Callable[[Any], None]
    """Function that raises an :class:`InvariantError` with a description of the violation."""
    of: str = "form"
    """Part of a game that the row is about: one of ``FlatGame.views``, ``FlatGame.layout``, a kind
    of payoffs, ``"labels"`` or ``"chunks"``.  The row applies to games with that part."""


BEFORE_PAYOFFS = (
    Invariant("A1", "dtypes and shapes", array_checks.check_array),
    Invariant("A2", "contiguous arrays", array_checks.check_contiguous),
    Invariant("A3", "whole numbers are indices", array_checks.check_size),
    Invariant("T1", "parents come first", tree_checks.check_parent, "tree"),
    Invariant("T2", "children are ranges", tree_checks.check_child_ranges, "tree"),
    Invariant("T3", "parent and first_child agree", tree_checks.check_child, "tree"),
    Invariant("T4", "players", tree_checks.check_player, "tree"),
    Invariant("T5", "infosets of nodes", tree_checks.check_infoset, "tree"),
    Invariant("T6", "terminals are the leaves", tree_checks.check_leaf, "tree"),
    Invariant("T7", "chance outcomes", tree_checks.check_outcome, "tree"),
    Invariant("T8", "outcomes of siblings differ", tree_checks.check_equal_outcomes, "tree"),
    Invariant("T9", "terminals are listed", tree_checks.check_terminal, "tree"),
    Invariant("T10", "utilities are finite", tree_checks.check_utility, "tree"),
    Invariant("T11", "chance probabilities", tree_checks.check_negative_chance, "tree"),
    Invariant("T12", "chance sums to 1", tree_checks.check_chance_sum, "tree"),
    Invariant("T13", "sure steps", tree_checks.check_sure_step, "tree"),
    Invariant("S1", "player ranges", layout_checks.check_player_ranges),
    Invariant("S2", "no empty bucket", layout_checks.check_empty_bucket),
    Invariant("S3", "order of buckets", layout_checks.check_bucket_order),
    Invariant("S4", "buckets tile the infosets", partial(layout_checks.check_tiles, "infoset")),
    Invariant("S5", "buckets tile the sequences", partial(layout_checks.check_tiles, "sequence")),
    Invariant("S6", "parent of the same player", layout_checks.check_parent_owner),
    Invariant("S7", "parent at a level above", layout_checks.check_parent_level),
    Invariant("S8", "owner acts", layout_checks.check_owner, "tree"),
    Invariant("S9", "infosets have histories", layout_checks.check_infoset_use, "tree"),
    Invariant("S10", "children are actions", layout_checks.check_child_count, "tree"),
    Invariant("S11", "perfect recall", layout_checks.check_recall, "tree"),
    Invariant("H1", "hands are counted", layout_checks.check_hand_rank),
    Invariant("H2", "masks of buckets", layout_checks.check_mask),
    Invariant("H3", "lanes are hands x nodes", layout_checks.check_lanes),
)
"""Invariants that those of payoffs rely on."""
AFTER_PAYOFFS = (
    Invariant("P7", "payoffs equal the tree's", payoff_checks.check_payoff, "tree"),
    Invariant("V1", "prior", public_tree_checks.check_prior, "public"),
    Invariant(
        "V2", "parents and children", public_tree_checks.check_parents_and_children, "public"
    ),
    Invariant("V3", "players and payoffs", public_tree_checks.check_actor, "public"),
    Invariant("V4", "public steps", public_tree_checks.check_edge, "public"),
    Invariant("V5", "chance and weight tables", public_tree_checks.check_step, "public"),
    Invariant("V6", "weights are products", public_tree_checks.check_weight, "public"),
    Invariant("V7", "public chance sums to 1", public_tree_checks.check_chance_sum, "public"),
    Invariant("V8", "public utilities are finite", public_tree_checks.check_utility, "public"),
    Invariant("V9", "buckets of public nodes", public_tree_checks.check_bucket, "public"),
    Invariant("V10", "ranks of public nodes", public_tree_checks.check_rank, "public"),
    Invariant("V11", "parents by hand", public_tree_checks.check_parent, "public"),
    Invariant("V12", "payoffs equal the public tree's", public_tree_checks.check_payoff, "public"),
    Invariant("M1", "merged form", check_merged_form, "merged"),
    Invariant("M2", "players are kept", merged_checks.check_sequence_map, "merged"),
    Invariant("M3", "actions are kept", merged_checks.check_action, "merged"),
    Invariant("M4", "parents are kept", merged_checks.check_parent, "merged"),
    Invariant("M5", "merged sequences are used", merged_checks.check_merged_use, "merged"),
    Invariant("M6", "payoffs are shared", merged_checks.check_payoff, "merged"),
    Invariant("M7", "regrets are kept", merged_checks.check_regrets, "merged"),
    Invariant("R1", "strategies are shared", layout_checks.check_shared, "tied"),
    Invariant("R2", "nobody is absent-minded", layout_checks.check_absent_minded, "tied"),
    Invariant("L1", "label counts", label_checks.check_count),
    Invariant(
        "L2", "infoset labels", partial(label_checks.check_labels_of, "infoset_labels"), "labels"
    ),
    Invariant("L3", "action labels", label_checks.check_actions, "labels"),
    Invariant("L4", "outcome labels", partial(label_checks.check_labels_of, "outcome_labels")),
    Invariant("L5", "public labels", label_checks.check_public_label, "public"),
    Invariant("L6", "hands are outcomes", label_checks.check_outcome, "public"),
    Invariant("K1", "arrays of chunks", chunk_checks.check_arrays, "chunks"),
    Invariant("K2", "trunk", check_trunk, "chunks"),
    Invariant("K3", "pools of shapes", chunk_checks.check_pools, "chunks"),
    Invariant("K4", "shapes", check_shapes, "chunks"),
    Invariant("K5", "buckets lie between the entries", chunk_checks.check_tiles, "chunks"),
    Invariant("K6", "chunks have shapes", chunk_checks.check_shape, "chunks"),
    Invariant("K7", "chunks tile the numbers", chunk_checks.check_number_offset, "chunks"),
    Invariant("K8", "way of a pass", chunk_checks.check_pass_order, "chunks"),
    Invariant("K9", "chunks tile the entries", chunk_checks.check_entry_offset, "chunks"),
    Invariant("K10", "entries of shapes", chunk_checks.check_entry_counts, "chunks"),
    Invariant("K11", "entries lie behind the part above", chunk_checks.check_entry, "chunks"),
    Invariant("K12", "every sequence is somewhere", chunk_checks.check_sequences, "chunks"),
)
"""Invariants that rely on those of payoffs."""


def all_invariants() -> list[Invariant]:
    """Return the rows of the list, in the order in which they are checked."""
    of_payoffs = [
        Invariant(number, name, partial(check_part, kind, row_check), kind)
        # Kinds in reverse, so that the list has single entries last, before P7.
        for kind, part in reversed(KINDS.items())
        for number, name, row_check in KIND_OF_CLASS[part].invariants
    ]
    return [*BEFORE_PAYOFFS, *of_payoffs, *AFTER_PAYOFFS]
