"""A name with settings, as a text: ``leduc(ranks=4)``, ``cfr+(delay=2)``."""

from __future__ import annotations

import ast
from typing import Any

from .arguments import brief
from .memory import reserve

LETTER_BYTES = 600
"""Bytes that a letter takes while a text is parsed, at most; measured with lists of ``[1]``."""


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split ``"leduc(ranks=4)"`` into ``("leduc", {"ranks": 4})``.

    Raises:
        ValueError: This is not a text, or one of another form.
        MemoryLimitError: It is too long for the budget of the work that reads it.
    """
    problem = f"cannot read {brief(spec)}; write it as name(setting=value, ...)"
    if not isinstance(spec, str):
        raise ValueError(problem)
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
        # A TypeError is an unhashable key of a dict; the last two are texts nested too deeply.
        raise ValueError(problem) from None
    return name.rstrip(), dict(zip(names, values, strict=True))
