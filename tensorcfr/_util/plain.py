"""Values for JSON."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Replace numbers that are not finite, which JSON does not have, by None, at any depth."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
