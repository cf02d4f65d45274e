"""Values for JSON."""

from __future__ import annotations

import math
from typing import Any


def plain(data: Any) -> Any:
    """Replace numbers that are not finite, which JSON does not have, by None, at any depth."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
