"""The server of the viewer: on the loopback address alone, for requests that bear its token."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from .._util.arguments import Flag, Kind, Whole, checked
from ..errors import MissingExtraError
from ..solvers.solution import Solution
from .desk import BusyError, Desk
from .nodes import plain
from .page import SOLUTION, build_page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
HEADER = "x-token"
"""Another origin cannot send it: its browser would ask first, and nothing answers."""
MOST_BODY = 1 << 20
"""Bytes of a request's body."""


class _RefusedError(Exception):
    """A request that is not answered, with the status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def make_app(desk: Desk, token: str, port: int) -> Starlette:
    """The application, which answers requests to ``127.0.0.1:port`` that bear the token.

    Raises:
        MissingExtraError: Starlette is not installed; says what installs it.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtraError("starlette", "view") from error

    hosts = {f"{HOST}:{port}", f"localhost:{port}"}
    origins = {f"http://{host}" for host in hosts}

    def respond(
        text: str, status: int = 200, kind: str = "text/plain", policy: str = ""
    ) -> Response:
        headers = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy or "default-src 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        return Response(text, status, headers, kind)

    def check(request: Request, given: str | None) -> None:
        # A name that was made to point here has another host; a page of another site an origin.
        if request.headers.get("host") not in hosts:
            raise _RefusedError(403, "wrong host")
        origin = request.headers.get("origin")
        if origin is not None and origin not in origins:
            raise _RefusedError(403, "wrong origin")
        if given is None or not hmac.compare_digest(given.encode(), token.encode()):
            raise _RefusedError(403, "wrong or missing token")

    async def page(request: Request) -> Response:
        try:
            check(request, request.query_params.get("token"))
        except _RefusedError as error:
            return respond(str(error), error.status)
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        text = build_page({"mode": "server", "token": token}, nonce)
        return respond(text, kind="text/html; charset=utf-8", policy=policy)

    def answers(work: Callable[[Any], Any]) -> Callable[[Request], Any]:
        """An endpoint that checks the request and answers in JSON."""

        async def endpoint(request: Request) -> Response:
            try:
                check(request, request.headers.get(HEADER))
                given = request.query_params if request.method == "GET" else await _body(request)
                said = await run_in_threadpool(work, given)
            except _RefusedError as error:
                return respond(str(error), error.status)
            except BusyError as error:
                return respond(str(error), 409)
            except MemoryError as error:
                return respond(str(error) or "out of memory", 507)
            except (KeyError, TypeError, ValueError) as error:
                return respond(str(error) or "bad request", 400)
            text = json.dumps(plain(said), ensure_ascii=False, separators=(",", ":"))
            return respond(text, kind="application/json")

        return endpoint

    def node(given: Any) -> Any:
        return desk.node(_whole(given["id"]), _whole(given.get("solution", "0")))

    def solve(given: Any) -> Any:
        if not isinstance(given, dict):
            raise TypeError("expected an object")
        desk.solve(given.get("locks"), given.get("iterations"))
        return desk.status()

    def stop(given: Any) -> Any:
        desk.stop()
        return desk.status()

    routes = [
        Route("/", page),
        Route("/api/about", answers(lambda given: desk.about())),
        Route("/api/node", answers(node)),
        Route("/api/search", answers(lambda given: desk.nodes.search(given["q"]))),
        Route("/api/status", answers(lambda given: desk.status())),
        Route("/api/solve", answers(solve), methods=["POST"]),
        Route("/api/stop", answers(stop), methods=["POST"]),
    ]
    return Starlette(routes=routes)


async def _body(request: Request) -> Any:
    """The JSON of a request, if it is not too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY:
            raise _RefusedError(413, "too long")
    return json.loads(body or b"{}")


def _whole(text: str) -> int:
    """A whole number of a query."""
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise ValueError(f"expected a whole number, not {text[:20]!r}")
    return int(text)


class Server:
    """The viewer on a port of this machine.

    Args:
        desk: What is shown.
        port: The port; 0 for one that is free.

    Raises:
        MissingExtraError: Starlette or uvicorn is not installed; says what installs it.
        OSError: The port is taken.
    """

    def __init__(self, desk: Desk, port: int = 0) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise MissingExtraError("uvicorn", "view") from error
        self.token = secrets.token_urlsafe(32)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((HOST, port))
            self.port = int(self.socket.getsockname()[1])
            app = make_app(desk, self.token, self.port)
        except BaseException:
            self.close()
            raise
        self.uvicorn = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        )

    @property
    def url(self) -> str:
        """Where the page is; whoever knows it can look and solve."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self.uvicorn.run(sockets=[self.socket])
        finally:
            self.close()

    def close(self) -> None:
        """Give the port back."""
        self.socket.close()

    def stop(self) -> None:
        """End :meth:`run`, from another thread."""
        self.uvicorn.should_exit = True


@checked()
def view(
    solution: Annotated[Solution, SOLUTION],
    other: Annotated[Solution | None, SOLUTION] = None,
    *,
    iters: Annotated[int | None, Whole(1)] = None,
    port: Annotated[int, Whole(0, 65535)] = 0,
    browser: Annotated[bool, Flag()] = True,
    announce: Annotated[Callable[[str], object] | None, Kind((Callable,), "a function")] = None,
) -> None:
    """Show a solution in the browser, until Ctrl-C.

    The server listens on the loopback address alone, and answers only requests with the random
    token that is part of the address.

    Args:
        solution: The solution.
        other: Another solution of the same game, to compare it with.
        iters: Iterations to solve the game by, with the solution's locks, while it is looked at:
            the curve is live.  The result is shown beside the solution; in its place, if that has
            no iterations.
        port: The port; 0 for one that is free.
        browser: Whether to open the browser.
        announce: Called with the address once the port is taken.

    Raises:
        MissingExtraError: Starlette or uvicorn is not installed; says what installs it.
        OSError: The port is taken.
        ValueError: The solutions are of different games.
    """
    desk = Desk(solution, other)
    server = Server(desk, port)
    if iters is not None:
        desk.solve(solution.locks or {}, iters)
    if announce is not None:
        announce(server.url)
    if browser:
        webbrowser.open(server.url)
    try:
        server.run()
    finally:
        desk.stop()
