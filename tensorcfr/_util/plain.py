"""Values for JSON."""

from __future__ import annotations

import math
from typing import Any


def plain(data: Any) -> Any:
    """Replace numbers that are not finite, which JSON does not have, by None, at any depth."""
    if isinstance(data, dict):
        return {key: plain(item) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(item) for item in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
