"""Requests of the page and their handlers, for the server and for the widget."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .._util.plain import plain
from .session import BusyError, Session
from .spot_form import SpotForm

PATIENCE = 0.25
"""Seconds that a request waits for expected values. The page shows the node without them, and asks
again."""
FORM = "/api/form/"
"""Prefix of the paths of the form's requests."""
LOG = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request is rejected, with a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def route_of(method: str, path: str) -> Callable[[Any, Any], Any]:
    """Return the handler of a method and a path.

    Raises:
        RefusedError: The path or the method has no handler.
    """
    if path not in ROUTES:
        raise RefusedError(404, "not found")
    wanted, work = ROUTES[path]
    if method != wanted:
        raise RefusedError(405, "wrong method")
    return work


def respond_to(
    session: Session | None, start: SpotForm | None, method: str, path: str, body: Any = None
) -> str:
    """Return the answer to a request as JSON.

    Args:
        session: Session with the solutions; None if there is none yet.
        start: Form; None if there is none.
        method: ``"GET"`` or ``"POST"``.
        path: Path, with the query of a GET request.
        body: Parsed body of a POST request.

    Raises:
        RefusedError: The request has no handler.
        Exception: The request is invalid; :func:`refusal` returns the status.
    """
    parts = urlsplit(path)
    work = route_of(method, parts.path)
    on = start if parts.path.startswith(FORM) else session
    if on is None:
        raise RefusedError(404, "not found")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    said = plain(work(on, query if method == "GET" else body))
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def refusal(error: Exception, path: str) -> tuple[int, str]:
    """Return the status and the reason of a request that failed."""
    if isinstance(error, RefusedError):
        return error.status, str(error)
    if isinstance(error, BusyError):
        return 409, str(error)
    if isinstance(error, MemoryError):
        return 507, str(error) or "out of memory"
    if isinstance(error, (KeyError, TypeError, ValueError, RecursionError)):
        return 400, str(error) or "bad request"
    LOG.error("the viewer failed to answer %s", path, exc_info=error)
    return 500, "internal error"


def _node(session: Session, given: Mapping[str, str]) -> Any:
    solution = whole_number(given.get("solution", "0"))
    return session.node(whole_number(given["id"]), solution, PATIENCE)


def _extra(session: Session, given: Mapping[str, str]) -> Any:
    solution = whole_number(given.get("solution", "0"))
    return session.extra(given["name"], whole_number(given["id"]), solution)


def _solve(session: Session, given: Any) -> Any:
    _object(given)
    session.solve(given.get("locks"), given.get("iterations"), given.get("target"))
    return session.status()


def _stop(session: Session, given: Any) -> Any:
    session.stop()
    return session.status()


def _begin(start: SpotForm, given: Any) -> Any:
    start.begin(given)
    return start.status()


def _typed(work: Callable[[SpotForm, Any], Any]) -> Callable[[SpotForm, Any], Any]:
    """Make a handler that reports mistakes in its answer as ``error``, because the user is still
    typing."""

    def answer(start: SpotForm, given: Any) -> Any:
        try:
            return work(start, given)
        except (MemoryError, TypeError, ValueError) as error:
            return {"error": str(error)}

    return answer


def _object(given: Any) -> Any:
    if not isinstance(given, dict):
        raise TypeError("expected an object")
    return given


ROUTES: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "/api/about": ("GET", lambda session, given: session.about(PATIENCE)),
    "/api/node": ("GET", _node),
    "/api/extra": ("GET", _extra),
    "/api/search": ("GET", lambda session, given: session.nodes.search(given["q"])),
    "/api/status": ("GET", lambda session, given: session.status()),
    "/api/solve": ("POST", _solve),
    "/api/stop": ("POST", _stop),
    f"{FORM}about": ("GET", lambda start, given: start.about()),
    f"{FORM}status": ("GET", lambda start, given: start.status()),
    f"{FORM}range": ("POST", _typed(lambda start, given: start.range(**_object(given)))),
    f"{FORM}size": ("POST", _typed(lambda start, given: start.size(given))),
    f"{FORM}solve": ("POST", _begin),
}
"""Method and handler by path."""


def whole_number(text: str) -> int:
    """Parse a whole number of a query."""
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise ValueError(f"expected a whole number, not {text[:20]!r}")
    return int(text)
