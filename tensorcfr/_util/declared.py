"""Dtypes and shapes of arrays, declared in the annotations of a named tuple."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_origin, get_type_hints

Declared = Mapping[str, tuple[type, tuple[str | int, ...]]]
"""Dtype and shape by name; the first array with a dimension sets its size."""


@cache
def declared(kind: Any) -> Declared:
    """Return the dtype and shape of each array of a named tuple.

    Args:
        kind: Class of the named tuple. The annotation of an array is ``Annotated[np.ndarray,
            np.int64, "rows", 3]``: the dtype, then the size of every axis, as a number or a name.
            Axes with the same name have the same size.
    """
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (hint.__metadata__[0], hint.__metadata__[1:])
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
    }
