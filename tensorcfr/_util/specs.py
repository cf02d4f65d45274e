"""A name with settings, as a text: ``leduc(ranks=4)``, ``cfr+(delay=2)``."""

from __future__ import annotations

import ast
from typing import Any


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split ``"leduc(ranks=4)"`` into ``("leduc", {"ranks": 4})``.

    Raises:
        ValueError: The text has another form.
    """
    name, bracket, rest = spec.strip().partition("(")
    if not bracket:
        return name, {}
    try:
        # The name apart: "cfr+" is none in Python's grammar.
        call = ast.parse(f"settings({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        names = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        if len(set(names)) < len(call.keywords):
            raise ValueError
        values = [ast.literal_eval(keyword.value) for keyword in call.keywords]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The last two are what Python says of texts that are nested too deeply.
        raise ValueError(f"cannot read {spec!r}; write it as name(setting=value, ...)") from None
    return name.rstrip(), dict(zip(names, values, strict=True))
