"""The server of the viewer: on the loopback address alone, for requests that bear its token."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socket import SHUT_RDWR, socket
from socketserver import ThreadingTCPServer
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from .._util.arguments import Flag, Kind, Whole, checked
from ..solvers.solution import Solution
from .answers import RefusedError, answer_to, refusal, route_of, whole_number
from .desk import Desk
from .page import SOLUTION, build_page
from .start import Start

HOST = "127.0.0.1"
HEADER = "x-token"
"""Another origin cannot send it: its browser would ask first, and nothing answers."""
MOST_BODY = 1 << 20
"""Bytes of a request's body."""
MOST_WAITING = 64
"""Connections that have shown no token yet; a further one takes the place of the oldest."""
HEADER_SECONDS = 10.0
"""Seconds that a connection has to show the token, and between two bytes of a body."""
LOG = logging.getLogger(__name__)


class Server(ThreadingTCPServer):
    """The viewer on a port of this machine; it listens once it is made.

    Args:
        desk: What is shown; None for a form that makes it.
        port: The port; 0 for one that is free.

    Raises:
        OSError: The port is taken.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = MOST_WAITING

    def __init__(self, desk: Desk | None, port: int = 0) -> None:
        self.start = Start() if desk is None else None
        self._desk = desk
        self.token = secrets.token_urlsafe(32)
        self.waiting: dict[socket, float] = {}
        """Connections that have shown no token yet, the oldest first, and when they began."""
        super().__init__((HOST, port), _Handler)
        self.port = int(self.socket.getsockname()[1])
        self.hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    @property
    def desk(self) -> Desk | None:
        """What is shown; None as long as the form has made nothing."""
        return self._desk if self.start is None else self.start.desk

    @property
    def url(self) -> str:
        """Where the page is; whoever knows it can look and solve."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until Ctrl-C, or :meth:`stop`."""
        self.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """End :meth:`run`, from another thread."""
        self.shutdown()

    def get_request(self) -> tuple[socket, Any]:
        """The next connection."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(0.1)  # Out of descriptors: it is there until one is free.
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread for a connection."""
        for connection in list(self.waiting)[: len(self.waiting) + 1 - MOST_WAITING]:
            self._drop(connection)
        self.waiting[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Drop connections that were too slow; called several times a second."""
        for connection, began in list(self.waiting.items()):
            if time.monotonic() - began > HEADER_SECONDS:
                self._drop(connection)

    def _drop(self, connection: socket) -> None:
        self.waiting.pop(connection, None)
        with suppress(OSError):
            connection.shutdown(SHUT_RDWR)  # Its thread reads the end of the file, and closes it.

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.waiting.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that break off."""
        LOG.debug("a connection broke off", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One request; the connection is closed after the answer."""

    server: Server
    timeout = HEADER_SECONDS
    server_version, sys_version = "tensorcfr", ""

    def _answer(self) -> None:
        try:
            said = self._said()
        except OSError:
            raise
        except Exception as error:
            self.send_error(*refusal(error, self.path))
        else:
            self._send(*said)

    do_GET = do_POST = do_OPTIONS = _answer  # noqa: N815

    def _said(self) -> tuple[str, int, str, str]:
        """The answer to the request: text, status, type and policy."""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == "/":
            if self.command != "GET":
                raise RefusedError(405, "wrong method")
            self._check(query.get("token"))
            return self._page()
        route_of(self.command, parts.path)  # Refused before the token is looked at.
        self._check(self.headers.get(HEADER))
        body = None if self.command == "GET" else self._body()
        text = answer_to(self.server.desk, self.server.start, self.command, self.path, body)
        return text, 200, "application/json", ""

    def _check(self, given: str | None) -> None:
        # A name that was made to point here has another host; a page of another site an origin.
        if self.headers.get("host") not in self.server.hosts:
            raise RefusedError(403, "wrong host")
        if self.headers.get("origin") not in (None, *self.server.origins):
            raise RefusedError(403, "wrong origin")
        token = self.server.token.encode()
        if given is None or not hmac.compare_digest(given.encode(), token):
            raise RefusedError(403, "wrong or missing token")
        self.server.waiting.pop(self.connection, None)

    def _page(self) -> tuple[str, int, str, str]:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        boot = {"mode": "server", "token": self.server.token, "form": self.server.start is not None}
        text = build_page(boot, nonce)
        return text, 200, "text/html; charset=utf-8", policy

    def _body(self) -> Any:
        """The JSON of the request, if it is not too long."""
        length = max(0, whole_number(self.headers.get("content-length", "0")))
        body = self.rfile.read(min(length, MOST_BODY + 1))
        if len(body) > MOST_BODY:
            raise RefusedError(413, "too long")
        return json.loads(body or b"{}")

    def _send(self, text: str, status: int, kind: str, policy: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", policy or "default-src 'none'"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A refusal as text."""
        self._send(message or "", int(code), "text/plain; charset=utf-8", "")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""


@checked()
def view(
    solution: Annotated[Solution | None, SOLUTION] = None,
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
        solution: The solution; None for a form, which builds a spot of hold'em and solves it.
        other: Another solution of the same game, to compare it with.
        iters: Iterations to solve the game by, with the solution's locks, while it is looked at:
            the curve is live.  The result is shown beside the solution; in its place, if that has
            no iterations.
        port: The port; 0 for one that is free.
        browser: Whether to open the browser.
        announce: Called with the address once the server listens.

    Raises:
        OSError: The port is taken.
        ValueError: The solutions are of different games.
    """
    desk = None if solution is None else Desk(solution, other)
    with Server(desk, port) as server:
        if desk is not None and iters is not None:
            locks = desk.solutions[0].solution.locks
            desk.solve(locks or {}, iters)
        try:
            if announce is not None:
                announce(server.url)
            if browser:
                webbrowser.open(server.url)
            server.run()
        finally:
            if server.desk is not None:
                server.desk.stop()
