"""Sequence forms of chunk shapes, as views of the pools that store their arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._util.jit import inlined, lends, overload_piece, view
from ..model.arrays import SequenceForm
from ..model.chunked_form import (
    CARD_FIELDS,
    FIELDS,
    FORM_FIELDS,
    BareShapes,
    CardShapes,
    CardShapesWithTrunkEntries,
    ChunkShapes,
    SubsetShapes,
    SubsetShapesWithTrunkEntries,
)
from ..payoff import ARRAYS, KINDS, PayoffSubsets

POOLS: dict[type, str] = {np.int64: "integers", np.uint32: "indices", np.float64: "reals"}
"""Pool that stores the arrays of each dtype."""
NO_ENTRIES = (
    "PayoffEntries(view(integers, 0, (0,)), view(integers, 0, (0,)), view(integers, 0, (0,)), "
    "view(integers, 0, (0,)), view(integers, integers.shape[0] - 3, (3,)), "
    "view(indices, 0, (1, 0)), view(reals, 0, (0,)))"
)
"""Source of an empty payoff part; see
:class:`tensorcfr.model.chunked_form.CardShapesWithTrunkEntries`."""
SIZES = {"players - 1": 1}
"""Dimensions with a known size: a game in chunks has two players."""


def _array(field: int, dtype: type, dimensions: Sequence[int | str]) -> str:
    """Return source code that makes the view of one array.

    Args:
        field: Row of the array in ``place``, which has its offset, its length, and the length of
            its last dimension.
        dtype: Dtype of the array.
        dimensions: Sizes of its dimensions.  A dimension given by name is computed from the length.
    """
    known = [SIZES.get(size, size) if isinstance(size, str) else size for size in dimensions]
    product = int(np.prod([size for size in known if isinstance(size, int)], initial=1))
    unknown = [axis for axis, size in enumerate(known) if isinstance(size, str)]
    # Two unknown dimensions need the length of the last one; a single one follows from the length.
    if len(unknown) == 2:
        known = [f"place[{field}, 1] // place[{field}, 2]", f"place[{field}, 2]"]
    elif unknown:
        known[unknown[0]] = f"place[{field}, 1] // {product}"
    sizes = "".join(f"{size}, " for size in known)
    return f"view({POOLS[dtype]}, place[{field}, 0], ({sizes}))"


def _form_of(fields: Sequence[str], before: str = "", **classes: type) -> Any:
    """Return a function that makes the sequence form of a shape.

    Args:
        fields: Names of the stored arrays.
        before: Source of a part of the payoff operator that comes first; empty for none.
        **classes: Classes that replace the classes of some kinds of payoffs.
    """
    form = [
        _array(field, np.uint32 if name == "infoset_parent" else np.int64, dimensions)
        for field, name in enumerate(FORM_FIELDS)
        for dimensions in [("masks", "hands + 1") if name == "hand_rank" else ("numbers",)]
    ]
    parts = [before] if before else []
    kinds = KINDS | classes
    for kind in dict.fromkeys(name.partition("/")[0] for name in fields[len(FORM_FIELDS) :]):
        arrays: Mapping[str, Any] = ARRAYS[kind]
        views = [_array(fields.index(f"{kind}/{name}"), *arrays[name]) for name in arrays]
        parts.append(f"{kinds[kind].__name__}({', '.join(views)})")
    lines = [
        "def form(shapes, shape):",
        "    place, integers = shapes.place[shape], shapes.integers",
        "    indices, reals = shapes.indices, shapes.reals",
        f"    return SequenceForm({', '.join(form)}, ({''.join(f'{part}, ' for part in parts)}))",
    ]
    scope: dict[str, Any] = {kind.__name__: kind for kind in (SequenceForm, *kinds.values())}
    scope["view"] = view
    # Numba cannot build a tuple of a variable number of parts, so the function is generated.
    exec("\n".join(lines), scope)
    return lends(inlined(scope["form"]))


_FORMS: dict[type, Any] = {
    ChunkShapes: _form_of(FIELDS),
    BareShapes: _form_of(FORM_FIELDS),
    CardShapes: _form_of(CARD_FIELDS),
    CardShapesWithTrunkEntries: _form_of(CARD_FIELDS, NO_ENTRIES),
    SubsetShapes: _form_of(CARD_FIELDS, cards=PayoffSubsets),
    SubsetShapesWithTrunkEntries: _form_of(CARD_FIELDS, NO_ENTRIES, cards=PayoffSubsets),
}
"""Function that makes the sequence form of a shape, for each kind of shapes."""


@lends
def shape_form(shapes: ChunkShapes, shape: int) -> SequenceForm:
    """Return the sequence form of a shape, as views."""
    form: SequenceForm = _FORMS[type(shapes)](shapes, shape)
    return form


@overload_piece(shape_form)
def _shape_form(shapes, shape):  # type: ignore[no-untyped-def]
    return _FORMS[shapes.instance_class]
