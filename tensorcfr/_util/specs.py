"""Names with settings, written as a text: ``leduc(ranks=4)``, ``cfr+(delay=2)``."""

from __future__ import annotations

import ast
from typing import Any

from .argument_checks import brief
from .memory_budget import reserve

LETTER_BYTES = 600
"""Largest number of bytes per character while a text is parsed; measured with lists of ``[1]``."""


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split ``"leduc(ranks=4)"`` into ``("leduc", {"ranks": 4})``.

    Raises:
        ValueError: The argument is not a text of this form.
        MemoryLimitError: The text is too long for the budget of the caller.
    """
    problem = f"cannot read {brief(spec)}; write it as name(setting=value, ...)"
    if not isinstance(spec, str):
        raise ValueError(problem)
    name, bracket, rest = spec.strip().partition("(")
    if not bracket:
        return name, {}
    reserve(LETTER_BYTES * len(rest))
    try:
        # Parse only the settings: a name such as "cfr+" is not an identifier in Python.
        call = ast.parse(f"settings({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        names = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        if len(set(names)) < len(call.keywords):
            raise ValueError
        values = [ast.literal_eval(keyword.value) for keyword in call.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        # An unhashable key of a dict raises TypeError, and deep nesting one of the last two.
        raise ValueError(problem) from None
    return name.rstrip(), dict(zip(names, values, strict=True))
