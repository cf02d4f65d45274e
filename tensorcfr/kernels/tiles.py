"""Lanes that kernels handle together."""

TILE = 256
"""Lanes of a tile: what a pass reads twice is then still in the first cache level."""
TILE_ROWS = 5
"""Rows of scratch of a tile."""
