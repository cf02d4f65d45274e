"""Dtypes and shapes of arrays, declared where the fields of a named tuple are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_origin, get_type_hints

Declared = Mapping[str, tuple[type, tuple[str | int, ...]]]
"""Dtype and shape by name; the first array with a dimension sets its size."""


@cache
def declared(kind: Any) -> Declared:
    """Dtype and shape of the arrays of a named tuple.

    Args:
        kind: Its class.  The annotation of an array is ``Annotated[np.ndarray, np.int64, "rows",
            3]``: its dtype, then the size of every axis, a number or a name; equal names are equal
            sizes.
    """
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (hint.__metadata__[0], hint.__metadata__[1:])
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
    }
