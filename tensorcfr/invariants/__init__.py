"""The invariants of a compiled game, checked; the list itself is ``docs/data-model.md``.

:data:`INVARIANTS` has one row per line of that list, in the same order, and one module per
group.  A row's function looks at the arrays and says what is wrong, or nothing; it may rely on
the rows above it, so that no function meets a game whose indices lead astray.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import InvariantError
from ..model.game import CompiledGame
from ..model.labels import InfosetLabels
from . import arrays, blocks, hands, labels, layout, merged, payoff, public, tree
from .public import PublicReader
from .reader import Reader

__all__ = ["INVARIANTS", "Invariant", "check"]


def check(game: CompiledGame, *, expand: bool = False) -> None:
    """Check every invariant of a compiled game, in the order of the list.

    What is said of histories is checked of a game that came in as histories.  Of hands x public
    tree it follows from the rest of the list, which is checked without laying out their product.

    Args:
        game: The game.
        expand: Whether to check all of the list: to expand hands x public tree, and to make labels
            that are only made when they are asked for.

    Raises:
        InvariantError: One is broken; the message begins with its number and name and goes on
            with the history, infoset or sequence at fault.
    """
    found: set[str] = {"form"}
    if game.histories is not None:
        found.add("histories")
    if game.public is not None:
        found.add("public")
    if game.merged is not None:
        found.add("merged")
    if not isinstance(game.infoset_labels, InfosetLabels):
        found.add("labels")
    kind = Reader if game.public is None else PublicReader
    run(kind(game, game.form), [row for row in INVARIANTS if row.of in found])
    if expand:
        # Only what is sound can be expanded.
        expanded = kind(game, game.form, expand=True)
        left = {"histories", "labels"} - found
        run(expanded, [row for row in INVARIANTS if row.number[0] == "A" or row.of in left])


def run(reader: Reader, rows: list[Invariant]) -> None:
    """Check some rows of the list.

    Raises:
        InvariantError: As above.
    """
    for row in rows:
        if (wrong := row.find(reader)) is not None:
            raise InvariantError(f"{row.number} ({row.name}): {wrong}")


def find_merged_form(reader: Reader) -> str | None:
    """The merged form is a sequence form."""
    small = merged.merged_of(reader)[1]
    try:
        run(small, [row for row in INVARIANTS if row.of == "form" and row.number[0] in "SHBP"])
    except InvariantError as error:
        return str(error)
    return None


class Invariant(NamedTuple):
    """One line of the list."""

    number: str
    """As in ``docs/data-model.md``."""
    name: str
    """The same in a few words."""
    find: Callable[[Any], str | None]
    """What is wrong, or nothing."""
    of: str = "form"
    """What a game must have for it to be checked: all have a ``form``."""


INVARIANTS = (
    Invariant("A1", "dtypes and shapes", arrays.find_array),
    Invariant("A2", "contiguous arrays", arrays.find_contiguous),
    Invariant("A3", "whole numbers are indices", arrays.find_size),
    Invariant("T1", "parents come first", tree.find_parent, "histories"),
    Invariant("T2", "children are ranges", tree.find_child_ranges, "histories"),
    Invariant("T3", "parent and first_child agree", tree.find_child, "histories"),
    Invariant("T4", "players", tree.find_player, "histories"),
    Invariant("T5", "infosets of nodes", tree.find_infoset, "histories"),
    Invariant("T6", "terminals are the leaves", tree.find_leaf, "histories"),
    Invariant("T7", "chance outcomes", tree.find_outcome, "histories"),
    Invariant("T8", "outcomes of siblings differ", tree.find_equal_outcomes, "histories"),
    Invariant("T9", "terminals are listed", tree.find_terminal, "histories"),
    Invariant("T10", "utilities are finite", tree.find_utility, "histories"),
    Invariant("T11", "chance probabilities", tree.find_negative_chance, "histories"),
    Invariant("T12", "chance sums to 1", tree.find_chance_sum, "histories"),
    Invariant("T13", "sure steps", tree.find_sure_step, "histories"),
    Invariant("S1", "player ranges", layout.find_player_ranges),
    Invariant("S2", "no empty bucket", layout.find_empty_bucket),
    Invariant("S3", "order of buckets", layout.find_bucket_order),
    Invariant("S4", "buckets tile the infosets", layout.find_infoset_tiles),
    Invariant("S5", "buckets tile the sequences", layout.find_sequence_tiles),
    Invariant("S6", "parent of the same player", layout.find_parent_owner),
    Invariant("S7", "parent at a level above", layout.find_parent_level),
    Invariant("S8", "owner acts", layout.find_owner, "histories"),
    Invariant("S9", "infosets have histories", layout.find_unused, "histories"),
    Invariant("S10", "children are actions", layout.find_fan, "histories"),
    Invariant("S11", "perfect recall", layout.find_recall, "histories"),
    Invariant("H1", "hands are counted", hands.find_hand_rank),
    Invariant("H2", "masks of buckets", hands.find_mask),
    Invariant("H3", "lanes are hands x nodes", hands.find_lanes),
    Invariant("B1", "blocks tile the terminals", blocks.find_terminal_tiles),
    Invariant("B2", "programs tile the code", blocks.find_matrix),
    Invariant("B3", "programs can be read", blocks.find_program),
    Invariant("B4", "places of blocks", blocks.find_place),
    Invariant("B5", "hands of programs", blocks.find_hand),
    Invariant("B6", "order of blocks", blocks.find_order),
    Invariant("B7", "groups tile the order", blocks.find_group),
    Invariant("B8", "groups are apart", blocks.find_shared_sequence),
    Invariant("B9", "weights are finite", blocks.find_weight),
    Invariant("P1", "payoff slices", payoff.find_slice_ranges),
    Invariant("P2", "slices tile the entries", payoff.find_slice_tiles),
    Invariant("P3", "payoff rows", payoff.find_row_order),
    Invariant("P4", "payoff columns", payoff.find_column),
    Invariant("P5", "order of entries", payoff.find_entry_order),
    Invariant("P6", "payoff values are finite", payoff.find_value),
    Invariant("P7", "payoffs equal the tree's", payoff.find_payoff, "histories"),
    Invariant("V1", "prior", public.find_prior, "public"),
    Invariant("V2", "parents and children", public.find_nesting, "public"),
    Invariant("V3", "players and payoffs", public.find_actor, "public"),
    Invariant("V4", "public steps", public.find_edge, "public"),
    Invariant("V5", "chance and weight tables", public.find_step, "public"),
    Invariant("V6", "weights are products", public.find_weight, "public"),
    Invariant("V7", "public chance sums to 1", public.find_chance_sum, "public"),
    Invariant("V8", "public utilities are finite", public.find_utility, "public"),
    Invariant("V9", "buckets of public nodes", public.find_bucket, "public"),
    Invariant("V10", "ranks of public nodes", public.find_rank, "public"),
    Invariant("V11", "parents by hand", public.find_parent, "public"),
    Invariant("V12", "payoffs equal the public tree's", public.find_payoff, "public"),
    Invariant("M1", "merged form", find_merged_form, "merged"),
    Invariant("M2", "players are kept", merged.find_stand_in, "merged"),
    Invariant("M3", "actions are kept", merged.find_action, "merged"),
    Invariant("M4", "parents are kept", merged.find_parent, "merged"),
    Invariant("M5", "merged sequences are used", merged.find_unused, "merged"),
    Invariant("M6", "payoffs are shared", merged.find_payoff, "merged"),
    Invariant("L1", "label counts", labels.find_count),
    Invariant("L2", "infoset labels", labels.find_label, "labels"),
    Invariant("L3", "action labels", labels.find_actions, "labels"),
    Invariant("L4", "outcome labels", labels.find_outcome_label),
    Invariant("L5", "public labels", labels.find_public_label, "public"),
    Invariant("L6", "hands are outcomes", labels.find_outcome, "public"),
)
"""The list, in the order in which it is checked."""
