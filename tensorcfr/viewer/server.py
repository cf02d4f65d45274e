"""Server of the viewer: only on the loopback address, and only for requests with its token."""

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
from pathlib import Path
from socket import SHUT_RDWR, socket
from socketserver import ThreadingTCPServer
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from .._util.argument_checks import Flag, Kind, Where, Whole, checked
from .._util.compiles import compiles_seen
from ..solvers.solution import Solution
from .library import Library, default_folder
from .page import SOLUTION, build_page
from .routes import RefusedError, refusal, respond_to, route_of, whole_number
from .session import Session
from .spot_form import SpotForm

HOST = "127.0.0.1"
HEADER = "x-token"
"""Header with the token. A page of another origin cannot send it: its browser would first ask the
server, which does not answer."""
MAX_BODY = 1 << 20
"""Largest number of bytes of a request's body."""
MAX_WAITING = 64
"""Largest number of connections that have not shown a token yet; a further one replaces the
oldest."""
HEADER_SECONDS = 10.0
"""Seconds within which a connection must show the token, and longest pause between bytes of a
body."""
LOG = logging.getLogger(__name__)


class Server(ThreadingTCPServer):
    """Server of the viewer on a port of this machine; it listens from its construction on.

    Args:
        session: Session to show; None for a form that creates it.
        port: The port; 0 for a free one.
        library: Library of the user; None if nothing can be saved.

    Raises:
        OSError: The port is in use.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = MAX_WAITING

    def __init__(
        self, session: Session | None, port: int = 0, library: Library | None = None
    ) -> None:
        self.start = SpotForm(session, library)
        self.token = secrets.token_urlsafe(32)
        self.waiting: dict[socket, float] = {}
        """Connections that have not shown a token yet, the oldest first, and their start times."""
        super().__init__((HOST, port), _Handler)
        self.port = int(self.socket.getsockname()[1])
        self.hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    @property
    def session(self) -> Session | None:
        """Session to show; None until the form has created it."""
        return self.start.session

    @property
    def url(self) -> str:
        """Address of the page with the token, which gives access to the viewer."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until Ctrl-C, or :meth:`stop`."""
        with compiles_seen() as self.start.compiles:
            self.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """Stop :meth:`run` from another thread."""
        self.shutdown()

    def get_request(self) -> tuple[socket, Any]:
        """Return the next connection."""
        try:
            return super().get_request()
        except OSError:
            # Without free file descriptors the connection stays pending; do not loop at full speed.
            time.sleep(0.1)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, and drop the oldest waiting ones if there are too
        many."""
        for connection in list(self.waiting)[: len(self.waiting) + 1 - MAX_WAITING]:
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
            connection.shutdown(SHUT_RDWR)  # Its thread reads the end of the stream and closes it.

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.waiting.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log connections that break off only for debugging."""
        LOG.debug("a connection broke off", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """Handler of one request; the connection is closed after the answer."""

    server: Server
    timeout = HEADER_SECONDS
    server_version, sys_version = "tensorcfr", ""

    def _answer(self) -> None:
        try:
            response = self._response()
        except OSError:
            raise
        except Exception as error:
            self.send_error(*refusal(error, self.path))
        else:
            self._send(*response)

    do_GET = do_POST = do_OPTIONS = _answer  # noqa: N815

    def _response(self) -> tuple[str, int, str, str]:
        """Return the answer to the request: text, status, type and policy."""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == "/":
            if self.command != "GET":
                raise RefusedError(405, "wrong method")
            self._check(query.get("token"))
            return self._page()
        route_of(self.command, parts.path)  # Reject unknown paths before checking the token.
        self._check(self.headers.get(HEADER))
        body = None if self.command == "GET" else self._body()
        text = respond_to(self.server.session, self.server.start, self.command, self.path, body)
        return text, 200, "application/json", ""

    def _check(self, sent_token: str | None) -> None:
        # A foreign name that resolves to this machine (DNS rebinding) shows in the host, and a page
        # of another site in the origin.
        if self.headers.get("host") not in self.server.hosts:
            raise RefusedError(403, "wrong host")
        if self.headers.get("origin") not in (None, *self.server.origins):
            raise RefusedError(403, "wrong origin")
        token = self.server.token.encode()
        if sent_token is None or not hmac.compare_digest(sent_token.encode(), token):
            raise RefusedError(403, "wrong or missing token")
        self.server.waiting.pop(self.connection, None)

    def _page(self) -> tuple[str, int, str, str]:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        boot = {"mode": "server", "token": self.server.token, "form": True}
        text = build_page(boot, nonce)
        return text, 200, "text/html; charset=utf-8", policy

    def _body(self) -> Any:
        """Return the JSON of the request, if it is not too long."""
        length = max(0, whole_number(self.headers.get("content-length", "0")))
        body = self.rfile.read(min(length, MAX_BODY + 1))
        if len(body) > MAX_BODY:
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
        """Send the reason of a rejection as text."""
        self._send(message or "", int(code), "text/plain; charset=utf-8", "")

    def log_message(self, format: str, *args: Any) -> None:
        """Omit the log of requests."""


@checked()
def view(
    solution: Annotated[Solution | None, SOLUTION] = None,
    second: Annotated[Solution | None, SOLUTION] = None,
    *,
    iters: Annotated[int | None, Whole(1)] = None,
    port: Annotated[int, Whole(0, 65535)] = 0,
    browser: Annotated[bool, Flag()] = True,
    folder: Annotated[str | Path | None, Where()] = None,
    announce: Annotated[Callable[[str], object] | None, Kind((Callable,), "a function")] = None,
) -> None:
    """Show a solution in the browser, until Ctrl-C, which keeps solutions that the page has solved.

    The server listens only on the loopback address, and answers only requests with the random token
    that is part of the page's address.

    Args:
        solution: The solution; None for a form, which builds a spot of hold'em and solves it.
        second: Another solution of the same game, or of a game that differs in utilities only, for
            comparison.
        iters: Iterations of a solve with the solution's locks, which runs while the page is open
            and shows a live curve. The result is shown next to the solution, or replaces it if the
            solution has no iterations.
        port: The port; 0 for a free one.
        browser: True to open the browser.
        folder: Folder for the spots, ranges and solutions that the page saves, and for those that
            it keeps when it ends; by default the user's folder for data of programs.
        announce: Function called with the address once the server listens, and with a line for each
            solution that is kept.

    Raises:
        OSError: The port is in use.
        ValueError: The solutions are of games with different infosets.
    """
    session = None if solution is None else Session(solution, second)
    library = Library(default_folder() if folder is None else folder)
    with Server(session, port, library) as server:
        if session is not None and iters is not None:
            locks = session.solutions[0].solution.locks
            session.solve(locks or {}, iters)
        try:
            if announce is not None:
                announce(server.url)
            if browser:
                webbrowser.open(server.url)
            server.run()
        finally:
            for path in server.start.finish():
                if announce is not None:
                    announce(f"kept {path}")
