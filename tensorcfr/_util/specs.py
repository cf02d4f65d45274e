"""A name with settings, as a text: ``leduc(ranks=4)``, ``cfr+(delay=2)``."""

from __future__ import annotations

import ast
from typing import Any

from .memory import reserve

LETTER_BYTES = 600
"""Bytes that a letter takes while a text is parsed, at most; measured with lists of ``[1]``."""


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split ``"leduc(ranks=4)"`` into ``("leduc", {"ranks": 4})``.

    Raises:
        ValueError: The text has another form.
        MemoryLimitError: It is too long for the budget of the work that reads it.
    """
    name, bracket, rest = spec.strip().partition("(")
    if not bracket:
        return name, {}
    reserve(LETTER_BYTES * len(rest))
    try:
        # The name apart: "cfr+" is none in Python's grammar.
        call = ast.parse(f"settings({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        names = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        if len(set(names)) < len(call.keywords):
            raise ValueError
        values = [ast.literal_eval(keyword.value) for keyword in call.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        # A dict with a list as its key is a TypeError, and a text that is nested too deeply one of
        # the last two.
        raise ValueError(f"cannot read {spec!r}; write it as name(setting=value, ...)") from None
    return name.rstrip(), dict(zip(names, values, strict=True))
