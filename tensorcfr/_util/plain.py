"""Values for JSON."""

from __future__ import annotations

import math
from typing import Any


def plain(said: Any) -> Any:
    """Replace numbers that are not finite, which JSON does not have, by None, at any depth."""
    if isinstance(said, dict):
        return {key: plain(value) for key, value in said.items()}
    if isinstance(said, (list, tuple)):
        return [plain(value) for value in said]
    return None if isinstance(said, float) and not math.isfinite(said) else said
