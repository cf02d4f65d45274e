"""Signatures of operators, which numba's compiler looks up once per argument types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.types.functions import BaseFunction

_NAME = "get_call_type"
_find = BaseFunction.get_call_type
_signatures: dict[tuple[Any, ...], Any] = {}
"""Signatures by operator and argument types.  The operators are numba's own objects, which must
live as long as the signatures, because they have the code of each."""


def _find_once(operator: Any, context: Any, args: Any, options: Any) -> Any:
    """Return the signature of a call, or None if there is none."""
    if options or getattr(operator.typing_key, "__module__", None) != "_operator":
        return _find(operator, context, args, options)
    key = operator, context, args
    signature = _signatures.get(key)
    if signature is None:
        signature = _find(operator, context, args, options)
        if signature is not None:
            _signatures[key] = signature
    return signature


@contextmanager
def remembered_operators() -> Iterator[None]:
    """Find the signature of an operator once per argument types.

    A kernel indexes arrays and adds numbers a thousand times, with few types.  Numba tries dozens
    of candidates each time, which takes a tenth of the time of compiling.  The caller holds numba's
    lock of the compiler.
    """
    before = getattr(BaseFunction, _NAME)
    setattr(BaseFunction, _NAME, _find_once)
    try:
        yield
    finally:
        setattr(BaseFunction, _NAME, before)
