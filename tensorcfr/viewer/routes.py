"""Requests of the page and their handlers, for the server and for the widget."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
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
    if method == "POST" and not isinstance(body, dict):
        raise TypeError("expected an object")
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


def _number(request: Mapping[str, Any], name: str) -> int:
    """Return a whole number of a query; 0 if it is missing."""
    return whole_number(request.get(name, "0"))


def _given(request: Mapping[str, Any], *names: str) -> Iterator[Any]:
    """Return some entries of a request; None for those that are missing."""
    return map(request.get, names)


def _reporting_mistakes(handler: Callable[[SpotForm, Any], Any]) -> Callable[[SpotForm, Any], Any]:
    """Make a handler that reports mistakes in its answer, because the user is still typing."""

    def answer(start: SpotForm, body: Any) -> Any:
        try:
            return handler(start, body)
        except (MemoryError, TypeError, ValueError) as error:
            return {"error": str(error)}

    return answer


def _status_after(
    change: Callable[[Any, Any], object], part: Callable[[Any], Any] = lambda whole: whole
) -> Callable[[Any, Any], Any]:
    """Make a handler that changes a part of a session or of the form, and returns its status."""

    def answer(whole: Any, body: Any) -> Any:
        change(part(whole), body)
        return part(whole).status()

    return answer


REPORTS = attrgetter("reports")
GETS: Mapping[str, Callable[[Any, Any], Any]] = {
    "/api/about": lambda session, query: session.about(PATIENCE),
    "/api/node": lambda session, query: session.node(
        whole_number(query["id"]), _number(query, "solution"), PATIENCE
    ),
    "/api/extra": lambda session, query: session.extra(
        query["name"], whole_number(query["id"]), _number(query, "solution")
    ),
    "/api/iterations": lambda session, query: session.iterations(query.get("line", "")),
    "/api/search": lambda session, query: session.nodes.search(query["q"]),
    "/api/status": lambda session, query: session.status(),
    "/api/joint": lambda session, query: session.joint_play(whole_number(query["iterations"])),
    "/api/train": lambda session, query: session.trainer.state(),
    "/api/report": lambda session, query: session.reports.status(
        _number(query, "number"), _number(query, "known")
    ),
    f"{FORM}about": lambda start, query: start.about(),
    f"{FORM}status": lambda start, query: start.status(),
    f"{FORM}fields": lambda start, query: start.fields(),
}
"""Handler of each request without a body, by path."""
POSTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "/api/solve": _status_after(
        lambda session, body: session.solve(
            *_given(body, "locks", "iterations", "target"),
            for_chips=body.get("for_chips") is True,
        )
    ),
    "/api/respond": _status_after(
        lambda session, body: session.respond(body, body.get("iterations"))
    ),
    "/api/stop": _status_after(lambda session, body: session.stop()),
    "/api/train/deal": lambda session, body: session.trainer.deal(
        *_given(body, "solution", "seat", "node")
    ),
    "/api/train/act": lambda session, body: session.trainer.act(body.get("action")),
    "/api/report/begin": _status_after(
        lambda reports, body: reports.begin(*_given(body, "boards", "node", "target")), REPORTS
    ),
    "/api/report/open": _status_after(
        lambda reports, body: reports.open(body.get("board")), REPORTS
    ),
    "/api/report/stop": _status_after(lambda reports, body: reports.stop(), REPORTS),
    f"{FORM}range": _reporting_mistakes(lambda start, body: start.range(**body)),
    f"{FORM}size": _reporting_mistakes(
        lambda start, body: start.size(*_given(body, "spot", "precision"))
    ),
    f"{FORM}tree": _reporting_mistakes(
        lambda start, body: start.tree(body.get("spot"), body.get("line"), body.get("size", ""))
    ),
    f"{FORM}read": _reporting_mistakes(lambda start, body: start.read(**body)),
    f"{FORM}solve": _status_after(lambda start, body: start.begin(body)),
    f"{FORM}cancel": _status_after(lambda start, body: start.cancel()),
    f"{FORM}save": lambda start, body: start.save(body),
    f"{FORM}open": lambda start, body: start.open(body),
    f"{FORM}remove": lambda start, body: start.remove(body),
    f"{FORM}page": lambda start, body: start.keep_page(body),
}
"""Handler of each request with a body, which is an object, by path."""
ROUTES = {path: ("GET", handler) for path, handler in GETS.items()} | {
    path: ("POST", handler) for path, handler in POSTS.items()
}
"""Method and handler by path."""


def whole_number(text: str) -> int:
    """Parse a whole number of a query."""
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise ValueError(f"expected a whole number, not {text[:20]!r}")
    return int(text)
