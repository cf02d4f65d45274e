"""Invariants A: the arrays themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._util.declared import Declared, check_declared, declared
from ..._util.violations import fail, named_after
from ...model.arrays import Copies, HistoryTree, PublicTree, SequenceForm, named_arrays
from ...model.layout import Layout
from ...payoff import ARRAYS
from .reader import Reader


def views(reader: Reader) -> Iterator[tuple[str, Declared, dict[str, Any]]]:
    """Yield prefix of array names, declared dtypes and shapes, and the arrays of each part of a
    game."""
    game = reader.game
    yield "", declared_form(game.form), dict(named(game.form))
    if reader.has_tree:
        yield "", declared(HistoryTree), dict(named(reader.tree))
    if "public" in game.views:
        yield "public.", declared(PublicTree), dict(named(game.public.tree))
    if "merged" in game.views:
        # The merged form has the players of the game.
        of_merged = {
            **declared_form(game.merged.form),
            "sequence": (np.uint32, ("sequences",)),
        }
        yield "merged.", of_merged, dict(named(game.merged.form), sequence=game.merged.sequence)
    if game.layout == Layout.TIED:
        yield "", {"tied_to": (np.uint32, ("infosets",))}, {"tied_to": game.strategy_class}


def every_array(reader: Reader) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of all parts of a game by name."""
    for prefix, _, arrays in views(reader):
        yield from ((prefix + name, array) for name, array in arrays.items())


def declared_form(form: SequenceForm) -> Declared:
    """Return the declared dtypes and shapes of a sequence form and its payoff operator."""
    of_parts = {
        f"{part.kind}.{name}": array
        for part in form.operator
        for name, array in ARRAYS[part.kind].items()
    }
    of_copies = declared(Copies) if form.copies is not None else {}
    return {
        **declared(SequenceForm),
        **{f"copies.{name}": array for name, array in of_copies.items()},
        **of_parts,
    }


def named(view: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a record by name; arrays of a payoff part as ``part.array``."""
    for name, array in named_arrays(view):
        yield name.replace("/", "."), array


def check_array(reader: Reader) -> None:
    """Check dtype and shape of every array."""
    players: dict[str, int] = {}
    for prefix, wanted, arrays in views(reader):
        sizes = dict(players)
        with named_after(prefix):
            check_declared(arrays, wanted, sizes)
        players = {"players": sizes.get("players", 0)}
        if players["players"] < 1 or sizes.get("nodes", 1) < 1:
            fail(f"there are {sizes['players']} players and {sizes.get('nodes')} nodes")


LEAST, MOST = -2, 1 << 32
"""Range of whole numbers in a game: sentinels, 32-bit indices, and the end of their range."""


def check_size(reader: Reader) -> None:
    """Check that whole numbers are in the range of indices, so that sums and products do not
    overflow."""
    for name, array in every_array(reader):
        # Smaller types cannot be out of range.
        if array.dtype == np.int64 and array.size:
            least, most = int(array.min()), int(array.max())
            if least < LEAST or most > MOST:
                fail(f"{name} holds {least if least < LEAST else most}")


def check_contiguous(reader: Reader) -> None:
    """Check that every array is contiguous and aligned, as kernels require."""
    for name, array in every_array(reader):
        if not array.flags.c_contiguous:
            fail(f"{name} is not contiguous in C order")
        if not array.flags.aligned:
            fail(f"{name} is not aligned")
