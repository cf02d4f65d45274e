"""Viewer of solutions in the browser; ``tensorcfr view``.

:func:`view` serves a solution on this machine only, and :func:`widget` shows it in a notebook.
:func:`save_html` writes a single page for sharing, which needs no server and no network.
"""

from .page import save_html
from .server import view
from .widget import widget

__all__ = ["save_html", "view", "widget"]
