"""The viewer: a solution in the browser; ``tensorcfr view``.

:func:`view` serves it on this machine alone; :func:`widget` shows it in a notebook;
:func:`save_html` writes one page for sharing, which needs no server and no network.
"""

from .page import save_html
from .server import view
from .widget import widget

__all__ = ["save_html", "view", "widget"]
