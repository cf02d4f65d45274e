"""Viewer in a notebook: the same page in a frame, whose requests are messages of the widget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from .._util.argument_checks import Whole, checked
from .._util.extras import needs
from ..solvers.solution import Solution
from .page import SOLUTION, build_page
from .routes import refusal, respond_to
from .session import Session

HEIGHT = 900
"""Default height of the frame in pixels."""


@checked()
def widget(
    solution: Annotated[Solution, SOLUTION],
    second: Annotated[Solution | None, SOLUTION] = None,
    *,
    height: Annotated[int, Whole(100, 10_000)] = HEIGHT,
) -> Any:
    """Show a solution in a notebook, Jupyter or marimo, as :func:`view` shows it in the browser.

    A cell whose last expression is the widget shows it. The kernel computes nodes between cells.

    Args:
        solution: The solution.
        second: Another solution of the same game, or of a game that differs in utilities only, for
            comparison.
        height: Height of the frame in pixels.

    Returns:
        An ``anywidget.AnyWidget``.

    Raises:
        MissingExtraError: anywidget is not installed; it comes with ``tensorcfr[notebook]``.
        ValueError: The solutions are of games with different infosets.
    """
    session = Session(solution, second)
    frame = _frame()(page=build_page({"mode": "widget"}), height=height)

    def reply(sender: Any, message: Mapping[str, Any], _: Any) -> None:
        sender.send({"number": message["number"], **reply_to(session, message)})

    frame.on_msg(reply)
    return frame


def reply_to(session: Session, message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``status`` and the ``text`` of the answer to a message.

    The message has ``method``, ``path`` and, as JSON, ``body``.
    """
    method, path = str(message.get("method")), str(message.get("path"))
    try:
        body = json.loads(message.get("body") or "{}")
        return {"status": 200, "text": respond_to(session, None, method, path, body)}
    except Exception as error:
        status, reason = refusal(error, path)
        return {"status": status, "text": reason}


@cache
def _frame() -> Any:
    """Return the class of the widgets, created once."""
    anywidget, traitlets = needs("anywidget", "notebook"), needs("traitlets", "notebook")

    class Frame(anywidget.AnyWidget):  # type: ignore[misc,name-defined]
        _esm = (files(__package__) / "static" / "widget.js").read_text("utf-8")
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    return Frame
