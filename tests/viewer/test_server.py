"""The server of the viewer answers its own page, and nobody else."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from support.browsing import running
from tensorcfr import Solution, compile_game, solve
from tensorcfr.viewer import view
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import HOST, MAX_BODY, MAX_WAITING, Server
from tensorcfr.viewer.session import Session


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Server(Session(solve(compile_game("kuhn"), iters=50)))) as served:
        yield served


def ask(
    server: Server, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = HTTPConnection(HOST, server.port, timeout=20)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return (
            answer.status,
            answer.read().decode(),
            {name.lower(): value for name, value in answer.getheaders()},
        )
    finally:
        connection.close()


def api(server: Server, path: str, body: Any = None, **headers: str) -> Any:
    method = "GET" if body is None else "POST"
    data = None if body is None else json.dumps(body).encode()
    status, text, _ = ask(server, path, method=method, body=data, x_token=server.token, **headers)
    assert status == 200, text
    return json.loads(text)


def test_the_page(server: Server) -> None:
    status, text, headers = ask(server, f"/?token={server.token}")
    assert status == 200
    assert "<!doctype html>" in text
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    (nonce,) = {part.split("'")[0] for part in policy.split("'nonce-")[1:]}
    assert text.count(f'nonce="{nonce}"') == 3
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_the_same_numbers_as_python(server: Server) -> None:
    solution = api(server, "/api/about")["solutions"][0]
    twin = solve(compile_game("kuhn"), iters=50)
    assert solution["values"] == list(twin.value)
    rows = api(server, "/api/node?id=0")["hands"]
    assert {row["infoset"]: row["p"] for row in rows} == {
        label: list(twin.policy[label].values()) for label in ("J", "Q", "K")
    }
    assert api(server, "/api/search?q=Kpb")[0]["infoset"] == "Kpb"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_token": ""},
        {"x_token": "wrong"},
        {"x_token": "gar\u00fcn".encode().decode("latin-1")},
    ],
)
@pytest.mark.parametrize(
    "path",
    ["/api/about", "/api/node?id=0", "/api/status", "/api/search?q=K", "/api/extra?name=a&id=0"],
)
def test_without_the_token(server: Server, path: str, headers: dict[str, str]) -> None:
    status, text, _ = ask(server, path, **headers)
    assert (status, text) == (403, "wrong or missing token")


def test_a_token_in_the_address_is_for_the_page_alone(server: Server) -> None:
    assert ask(server, f"/api/about?token={server.token}")[0] == 403
    assert ask(server, "/")[0] == 403
    assert ask(server, "/", x_token=server.token)[0] == 403
    assert ask(server, f"/?token={server.token[:-1]}")[0] == 403


def test_another_origin_or_host(server: Server) -> None:
    token = server.token
    for origin in ("http://evil.example", "null", f"http://{HOST}:1", "file://"):
        status, text, headers = ask(server, "/api/about", x_token=token, origin=origin)
        assert (status, text) == (403, "wrong origin")
        assert "access-control-allow-origin" not in headers
    for host in ("evil.example", f"evil.example:{server.port}", HOST):
        status, text, _ = ask(server, "/api/about", x_token=token, host=host)
        assert (status, text) == (403, "wrong host")
        assert ask(server, f"/?token={token}", host=host)[0] == 403
    own = f"http://{HOST}:{server.port}"
    assert ask(server, "/api/about", x_token=token, origin=own)[0] == 200
    # A browser asks before it sends the header for another origin: the answer is no.
    preflight = ask(server, "/api/solve", method="OPTIONS", origin="http://evil.example")
    assert preflight[0] in (403, 405)
    assert "access-control-allow-headers" not in preflight[2]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/../../etc/passwd",
        "/static/program.js",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/api/../../x",
        "/api/file?path=/etc/passwd",
        "/docs",
        "/openapi.json",
    ],
)
def test_a_path_outside(server: Server, path: str) -> None:
    assert ask(server, path, x_token=server.token)[0] == 404


def test_bad_requests(server: Server) -> None:
    def refusal(path: str, body: bytes | None = None) -> tuple[int, str]:
        method = "GET" if body is None else "POST"
        return ask(server, path, method=method, body=body, x_token=server.token)[:2]

    assert refusal("/api/node?id=99") == (400, "kuhn has no public node 99")
    assert refusal("/api/node?id=x") == (400, "expected a whole number, not 'x'")
    assert refusal("/api/node?id=" + "9" * 4000)[0] == 400
    assert refusal("/api/node")[0] == 400
    assert refusal("/api/solve", b"{")[0] == 400
    assert refusal("/api/solve", b"[]")[0] == 400
    assert refusal("/api/solve", b'{"locks": {}, "iterations": NaN}')[0] == 400
    assert refusal("/api/solve", b"\xff\xfe")[0] == 400
    assert refusal("/api/solve", b"[" * 500_000)[0] == 400  # Deeper than Python's stack.
    assert "no infoset 'Z'" in refusal("/api/solve", b'{"locks": {"Z": {}}, "iterations": 5}')[1]
    assert refusal("/api/solve", b" " * (MAX_BODY + 1)) == (413, "too long")
    assert ask(server, "/api/solve", x_token=server.token)[0] == 405


def test_solving_again(server: Server) -> None:
    api(server, "/api/solve", {"locks": {"K": {"bet": 1}}, "iterations": 30})
    while api(server, "/api/status")["running"]:
        pass
    twin = solve(compile_game("kuhn"), iters=30, locks={"K": {"bet": 1}})
    about = api(server, "/api/about")
    assert about["solutions"][1]["values"] == list(twin.value)
    assert api(server, "/api/stop", {})["running"] is None


def test_one_solve_at_a_time(server: Server) -> None:
    before = api(server, "/api/status")["version"]
    asked = {"locks": {}, "iterations": 10_000_000}
    assert api(server, "/api/solve", asked)["running"]["iterations"] == 10_000_000
    body = json.dumps(asked).encode()
    second = ask(server, "/api/solve", method="POST", body=body, x_token=server.token)
    assert second[:2] == (409, "a solve is running already")
    api(server, "/api/stop", {})
    while (status := api(server, "/api/status"))["running"]:
        pass
    # At least once: a solve of a second shows the strategy so far, too.
    assert status["version"] > before
    assert (status["running"], status["error"]) == (None, None)


def test_the_form() -> None:
    """Without a solution there is the form alone, behind the same token, until it made one."""
    with running(Server(None)) as served:
        assert ask(served, "/api/form/about")[0] == 403
        assert api(served, "/api/form/about")["kind"] == "form"
        assert ask(served, "/api/about", x_token=served.token)[:2] == (404, "not found")
        for spot, reason in (({"board": "x"}, "the spot has no ranges"), ([], "must be an object")):
            assert reason in api(served, "/api/form/size", {"spot": spot})["error"]
        refused = ask(served, "/api/form/solve", method="POST", body=b"[]", x_token=served.token)
        assert refused[:2] == (400, "expected an object")
        assert api(served, "/api/form/range", {"text": "AA"})["combos"] == 6.0
        api(served, "/api/form/solve", {"game": "kuhn", "iterations": 20})
        while not api(served, "/api/form/status")["ready"]:
            time.sleep(0.01)
        while api(served, "/api/status")["running"]:
            time.sleep(0.01)
        assert api(served, "/api/about")["solutions"][0]["iterations"] == 20


def test_a_viewer_of_a_solution_has_the_form_too(server: Server) -> None:
    """But nothing can be saved without a folder."""
    assert api(server, "/api/form/status")["ready"]
    assert api(server, "/api/form/about")["library"] is None
    assert api(server, "/api/form/fields") == {"fields": None}
    body = json.dumps({"kind": "solutions", "name": "x", "view": {}}).encode()
    answer = ask(server, "/api/form/save", method="POST", body=body, x_token=server.token)
    assert answer[:2] == (400, "this viewer has no folder to save in")


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is no bad request."""
    session = Session(solve(compile_game("kuhn"), iters=1))

    def fail(text: str) -> list[dict[str, Any]]:
        raise MemoryError(text)

    monkeypatch.setattr(session.nodes, "search", fail)
    with running(Server(session)) as served:
        for said, expected in (("5%20GiB", "5 GiB"), ("", "out of memory")):
            answer = ask(served, f"/api/search?q={said}", x_token=served.token)
            assert answer[:2] == (507, expected)


def test_a_game_is_solved_while_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The address is told and opened once, the solve takes the locks of the solution, and who ends
    the server ends the solve, whose solution is kept."""
    made: list[Server] = []
    told: list[tuple[str, str]] = []

    class Noted(Server):
        def __init__(self, session: Session, port: int, library: Library) -> None:
            super().__init__(session, port, library)
            made.append(self)
            sessions.append(session)

    sessions: list[Session] = []
    monkeypatch.setattr("tensorcfr.viewer.server.Server", Noted)
    monkeypatch.setattr("webbrowser.open", lambda url: told.append(("opened", url)))
    game = compile_game("kuhn")
    first = solve(game, iters=5, locks={"K": {"bet": 1}})
    options = {"iters": 10_000_000, "announce": lambda url: told.append(("told", url))}
    options["folder"] = tmp_path
    thread = threading.Thread(target=view, args=(first,), kwargs=options)
    thread.start()
    while len(told) < 2:
        pass
    (served,), (session,) = made, sessions
    assert told == [("told", served.url), ("opened", served.url)]
    while not (running_now := api(served, "/api/status")["running"])["iteration"]:
        pass
    assert running_now["iterations"] == 10_000_000
    served.stop()
    thread.join()
    assert session.running is not None
    was_told = session.running.is_stopped
    session.stop()  # In any case.
    assert was_told
    while not session.running.is_over:
        pass
    found = session.solutions[1].solution
    assert found.locks == first.locks
    assert found.iterations < 10_000_000
    kept = [tmp_path / "solutions" / f"last {name}.npz" for name in "AB"]
    assert told[2:] == [("told", f"kept {path}") for path in kept]
    assert Solution.load(kept[1]).iterations == found.iterations


def test_only_this_machine(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert len(server.token) >= 43  # 32 random bytes.
    other = Server(Session(solve(compile_game("kuhn"), iters=1)))
    assert other.token != server.token
    other.server_close()


def test_a_port_that_is_taken(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        view(solve(compile_game("kuhn"), iters=1), port=server.port, browser=False)


def idle(server_port: int, count: int) -> list[socket.socket]:
    """Connections that say nothing."""
    return [socket.create_connection((HOST, server_port), timeout=5) for _ in range(count)]


def test_connections_that_say_nothing_take_no_place(server: Server) -> None:
    opened = idle(server.port, 3 * MAX_WAITING)
    try:
        assert api(server, "/api/about")["solutions"]
        assert len(server.waiting) <= MAX_WAITING
        assert opened[0].recv(1) == b""  # The oldest made room.
    finally:
        for connection in opened:
            connection.close()
    assert api(server, "/api/about")["solutions"]


def test_a_connection_has_seconds_to_show_the_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that sends a header now and then."""
    monkeypatch.setattr("tensorcfr.viewer.server.HEADER_SECONDS", 0.5)
    (slow,) = idle(server.port, 1)
    with slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - began < 10.0:
                slow.sendall(b"x: y\r\n")
                time.sleep(0.1)
        assert time.monotonic() - began < 5.0
    assert api(server, "/api/about")["solutions"]


def test_it_listens_before_it_is_announced() -> None:
    server = Server(Session(solve(compile_game("kuhn"), iters=1)))
    (early,) = idle(server.port, 1)
    with early, running(server):
        early.sendall(b"GET /api/status HTTP/1.0\r\n\r\n")
        assert early.recv(100).startswith(b"HTTP/1.0 403")


OUT_OF_DESCRIPTORS = """if True:
    import resource, sys
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    from tensorcfr import compile_game, solve
    from tensorcfr.viewer import view
    tell = lambda url: print(url, flush=True)
    view(solve(compile_game("kuhn"), iters=5), browser=False, announce=tell)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_out_of_descriptors_it_accepts_again_and_says_nothing() -> None:
    """Forty-eight files, and fewer connections than may wait: the next ones are not accepted."""
    command = [sys.executable, "-c", OUT_OF_DESCRIPTORS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        port, token = int(url.split(":")[2].split("/")[0]), url.partition("token=")[2]
        opened = idle(port, 60)
        before = seconds_of(process.pid)
        time.sleep(1.0)
        assert seconds_of(process.pid) - before < 0.5
        for connection in opened:
            connection.close()
        connection = HTTPConnection(HOST, port, timeout=20)
        connection.request("GET", "/api/about", headers={"x-token": token})
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert said.count("Traceback") <= 1  # That of Ctrl-C.
    assert said.strip().endswith("KeyboardInterrupt")


def seconds_of(pid: int) -> float:
    """Seconds of processor time that a process has taken; 0 where nobody says so."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().split()
    except OSError:
        return 0.0
    return (int(words[13]) + int(words[14])) / 100
