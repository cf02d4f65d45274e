"""Requests of the page and their handlers, for the server and for the widget."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .._util.plain import plain
from .busy import BusyError
from .session import Session
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
    expected_method, handler = ROUTES[path]
    if method != expected_method:
        raise RefusedError(405, "wrong method")
    return handler


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
    handler = route_of(method, parts.path)
    target = start if parts.path.startswith(FORM) else session
    if target is None:
        raise RefusedError(404, "not found")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    answer = plain(handler(target, query if method == "GET" else body))
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def refusal(error: Exception, path: str) -> tuple[int, str]:
    """Return the status and the reason of a request that failed."""
    if isinstance(error, RefusedError):
        return error.status, str(error)
    if isinstance(error, BusyError):
        return 409, str(error)
    if isinstance(error, OSError) and error.strerror:
        return 507, f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return 507, str(error) or "out of memory"
    if isinstance(error, (KeyError, TypeError, ValueError, RecursionError)):
        return 400, str(error) or "bad request"
    LOG.error("the viewer failed to answer %s", path, exc_info=error)
    return 500, "internal error"


def _node(session: Session, query: Mapping[str, str]) -> Any:
    solution = whole_number(query.get("solution", "0"))
    return session.node(whole_number(query["id"]), solution, PATIENCE)


def _extra(session: Session, query: Mapping[str, str]) -> Any:
    solution = whole_number(query.get("solution", "0"))
    return session.extra(query["name"], whole_number(query["id"]), solution)


def _solve(session: Session, body: Any) -> Any:
    _checked_object(body)
    options = (body.get(name) for name in ("locks", "iterations", "target"))
    session.solve(*options, for_chips=body.get("for_chips") is True)
    return session.status()


def _respond(session: Session, body: Any) -> Any:
    session.respond(_checked_object(body), body.get("iterations"))
    return session.status()


def _stop(session: Session, body: Any) -> Any:
    session.stop()
    return session.status()


def _begin(start: SpotForm, body: Any) -> Any:
    start.begin(body)
    return start.status()


def _cancel(start: SpotForm, body: Any) -> Any:
    start.cancel()
    return start.status()


def _size(start: SpotForm, body: Any) -> Any:
    request = _checked_object(body)
    return start.size(request.get("spot"), request.get("precision"))


def _tree(start: SpotForm, body: Any) -> Any:
    request = _checked_object(body)
    return start.tree(request.get("spot"), request.get("line"), request.get("size", ""))


def _reporting_mistakes(handler: Callable[[SpotForm, Any], Any]) -> Callable[[SpotForm, Any], Any]:
    """Make a handler that answers mistakes as ``error``, because the user is still typing."""

    def answer(start: SpotForm, body: Any) -> Any:
        try:
            return handler(start, body)
        except (MemoryError, TypeError, ValueError) as error:
            return {"error": str(error)}

    return answer


def _checked_object(body: Any) -> Any:
    if not isinstance(body, dict):
        raise TypeError("expected an object")
    return body


def _begin_report(session: Session, body: Any) -> Any:
    _checked_object(body)
    session.reports.begin(*(body.get(name) for name in ("boards", "node", "target")))
    return session.reports.status()


def _open_board(session: Session, body: Any) -> Any:
    session.reports.open(_checked_object(body).get("board"))
    return session.reports.status()


def _stop_report(session: Session, body: Any) -> Any:
    session.reports.stop()
    return session.reports.status()


ROUTES: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "/api/about": ("GET", lambda session, request: session.about(PATIENCE)),
    "/api/node": ("GET", _node),
    "/api/extra": ("GET", _extra),
    "/api/iterations": (
        "GET",
        lambda session, request: session.iterations(request.get("line", "")),
    ),
    "/api/search": ("GET", lambda session, request: session.nodes.search(request["q"])),
    "/api/status": ("GET", lambda session, request: session.status()),
    "/api/solve": ("POST", _solve),
    "/api/respond": ("POST", _respond),
    "/api/joint": (
        "GET",
        lambda session, request: session.joint_play(whole_number(request["iterations"])),
    ),
    "/api/stop": ("POST", _stop),
    "/api/train": ("GET", lambda session, request: session.trainer.state()),
    "/api/train/deal": (
        "POST",
        lambda session, request: session.trainer.deal(
            *(_checked_object(request).get(name) for name in ("solution", "seat", "node"))
        ),
    ),
    "/api/train/act": (
        "POST",
        lambda session, request: session.trainer.act(_checked_object(request).get("action")),
    ),
    "/api/report": (
        "GET",
        lambda session, request: session.reports.status(
            *(whole_number(request.get(name, "0")) for name in ("number", "known"))
        ),
    ),
    "/api/report/begin": ("POST", _begin_report),
    "/api/report/open": ("POST", _open_board),
    "/api/report/stop": ("POST", _stop_report),
    f"{FORM}about": ("GET", lambda start, request: start.about()),
    f"{FORM}status": ("GET", lambda start, request: start.status()),
    f"{FORM}range": (
        "POST",
        _reporting_mistakes(lambda start, request: start.range(**_checked_object(request))),
    ),
    f"{FORM}size": ("POST", _reporting_mistakes(_size)),
    f"{FORM}tree": ("POST", _reporting_mistakes(_tree)),
    f"{FORM}read": (
        "POST",
        _reporting_mistakes(lambda start, request: start.read(**_checked_object(request))),
    ),
    f"{FORM}solve": ("POST", _begin),
    f"{FORM}cancel": ("POST", _cancel),
    f"{FORM}fields": ("GET", lambda start, request: start.fields()),
    f"{FORM}save": ("POST", lambda start, request: start.save(_checked_object(request))),
    f"{FORM}open": ("POST", lambda start, request: start.open(_checked_object(request))),
    f"{FORM}remove": ("POST", lambda start, request: start.remove(_checked_object(request))),
    f"{FORM}page": ("POST", lambda start, request: start.keep_page(_checked_object(request))),
}
"""Method and handler by path."""


def whole_number(text: str) -> int:
    """Parse a whole number of a query."""
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise ValueError(f"expected a whole number, not {text[:20]!r}")
    return int(text)
