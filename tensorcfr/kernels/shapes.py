"""Sequence forms of chunk shapes, as views of the pools that store their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import NativeValue, unbox

from .._util.declared import declared
from .._util.jit import inlined, lends, overload_piece, view
from ..model.arrays import SequenceForm
from ..model.chunked_form import FORM_FIELDS, POOLS, ChunkShapes, Kinds
from ..payoff import empty_arrays

SIZES = {"players - 1": 1}
"""Dimensions with a known size: only games of two players have single entries in chunks."""


def _array(field: int, dtype: type, dimensions: Sequence[int | str]) -> str:
    """Return source code that makes the view of one array.

    Args:
        field: Row of the array in ``place``, which has its offset, its length, and the length of
            its last dimension.
        dtype: Dtype of the array.
        dimensions: Sizes of its dimensions.  A dimension given by name is computed from the length.
            One or two of them have names; of two, one is the last dimension.
    """
    known = [SIZES.get(size, size) if isinstance(size, str) else size for size in dimensions]
    product = int(np.prod([size for size in known if isinstance(size, int)], initial=1))
    unknown = [axis for axis, size in enumerate(known) if isinstance(size, str)]
    # Two unknown dimensions need the length of the last one; a single one follows from the length.
    if len(unknown) == 2:
        known[unknown[0]] = f"place[{field}, 1] // (place[{field}, 2] * {product})"
        known[-1] = f"place[{field}, 2]"
    elif unknown:
        known[unknown[0]] = f"place[{field}, 1] // {product}"
    sizes = "".join(f"{size}, " for size in known)
    return f"view({POOLS[dtype]}, place[{field}, 0], ({sizes}))"


def _empty_array(array: np.ndarray) -> str:
    """Return source code that makes the view of an array of an empty part, at the end of a pool."""
    pool = POOLS[array.dtype.type]
    return f"view({pool}, {pool}.shape[0] - {array.size}, {array.shape})"


@cache
def _form_of(kinds: Kinds, empty_kinds: Kinds) -> Any:
    """Return a function that makes the sequence form of a shape; see :class:`ChunkShapes`."""
    views: dict[Any, list[str]] = {SequenceForm: []}
    for field, name in enumerate(FORM_FIELDS):
        dtype = np.uint32 if name == "infoset_parent" else np.int64
        dimensions = ("masks", "hands + 1") if name == "hand_rank" else ("numbers",)
        views[SequenceForm].append(_array(field, dtype, dimensions))
    fields = count(len(FORM_FIELDS))
    views |= {kind: [_empty_array(array) for array in empty_arrays(kind)] for kind in empty_kinds}
    views |= {
        kind: [_array(next(fields), *array) for array in declared(kind).values()] for kind in kinds
    }
    form, *operator = (f"{kind.__name__}({', '.join(views[kind])}" for kind in views)
    lines = [
        "def form(shapes, shape):",
        "    place, integers = shapes.place[shape], shapes.integers",
        "    indices, reals = shapes.indices, shapes.reals",
        f"    return {form}, ({''.join(f'{part}), ' for part in operator)}), None)",
    ]
    scope: dict[str, Any] = {kind.__name__: kind for kind in views}
    scope["view"] = view
    # Numba cannot build a tuple of a variable number of parts, so the function is generated.
    exec("\n".join(lines), scope)
    return lends(inlined(scope["form"]))


@unbox(types.NamedTupleClass)
def _unbox_kind(typ: Any, kind: Any, context: Any) -> NativeValue:
    # The type of the argument says which class it is, so there is nothing to read.
    return NativeValue(context.context.get_dummy_value())


@lends
def shape_form(shapes: ChunkShapes, shape: int) -> SequenceForm:
    """Return the sequence form of a shape, as views."""
    form: SequenceForm = _form_of(shapes.kinds, shapes.empty_kinds)(shapes, shape)
    return form


@overload_piece(shape_form)
def _shape_form(shapes, shape):  # type: ignore[no-untyped-def]
    types_of = dict(zip(shapes.fields, shapes.types, strict=True))
    kinds = (types_of[field] for field in ("kinds", "empty_kinds"))
    return _form_of(*(tuple(kind.instance_class for kind in of_field) for of_field in kinds))
