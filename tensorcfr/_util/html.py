"""Small pieces of HTML for notebooks, without scripts; only curves have their own colour.

All other colours are those of the surrounding page (``currentColor``, transparent backgrounds), so
that the pieces are readable on light and on dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

CURVE = "#0072B2"
"""Blue of the Okabe-Ito palette, which colour-blind readers can distinguish, on light and dark
grounds."""
CELL = "padding:2px 10px 2px 0;text-align:{};background:transparent;border:0"


def block(title: str, *parts: str) -> str:
    """Render a title with HTML parts below it."""
    head = f'<div style="font-weight:600;margin:2px 0">{escape(title)}</div>'
    return f'<div style="line-height:1.35">{head}{"".join(parts)}</div>'


def note(text: str) -> str:
    """Render a text in small print."""
    return f'<div style="opacity:.7;font-size:90%">{escape(text)}</div>'


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """Render a table.

    Args:
        headings: Headings of the columns, or nothing.
        rows: Cells of each row.
        text_columns: Number of leading columns that are aligned left; the others are aligned right.
    """

    def line(tag: str, cells: Sequence[str]) -> str:
        shown = "".join(
            f'<{tag} style="{CELL.format("left" if i < text_columns else "right")}">'
            f"{escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        )
        return f'<tr style="background:transparent">{shown}</tr>'

    head = f"<thead>{line('th', headings)}</thead>" if headings else ""
    body = "".join(line("td", row) for row in rows)
    style = "border-collapse:collapse;border:0;margin:4px 0"
    return f'<table style="{style}">{head}<tbody>{body}</tbody></table>'


def curve(points: Sequence[tuple[float, float]]) -> str:
    """Render a curve on two log scales as SVG; return "" if fewer than two points are positive."""
    logs = [(math.log10(x), math.log10(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 2:
        return ""
    width, height = 360, 150
    left, bottom, top, right = 52, 22, 8, 8
    xs, ys = [x for x, _ in logs], [y for _, y in logs]
    low_x, high_x = min(xs), max(max(xs), min(xs) + 1e-9)
    low_y, high_y = math.floor(min(ys)), math.ceil(max(ys))
    high_y = max(high_y, low_y + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + (x - low_x) / (high_x - low_x) * (width - left - right),
            top + (high_y - y) / (high_y - low_y) * (height - top - bottom),
        )

    parts = []
    step = max(1, (high_y - low_y + 4) // 5)
    for power in range(low_y, high_y + 1, step):
        _, y = place(low_x, power)
        parts.append(
            f'<line x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity=".15"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'
        )
    step = max(1, (math.floor(high_x) - math.ceil(low_x) + 5) // 6)
    for power in range(math.ceil(low_x), math.floor(high_x) + 1, step):
        x, _ = place(power, low_y)
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">1e{power}</text>')
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in logs))
    parts.append(f'<polyline points="{line}" fill="none" stroke="{CURVE}" stroke-width="1.8"/>')
    return (
        f'<svg role="img" aria-label="exploitability against iterations" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" fill="currentColor" font-size="10" '
        f'font-family="sans-serif">{"".join(parts)}</svg>'
    )
