"""The viewer as a widget: the same page and the same nodes, asked for by messages."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any

import pytest

from support.browsing import IN_BROWSER, READY, assert_shows, click_to
from tensorcfr import Solution, compile_game, solve
from tensorcfr.errors import MissingExtraError
from tensorcfr.viewer import widget
from tensorcfr.viewer.page import build_page
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.widget import _frame, reply_to

NOTEBOOK = """
async ([program, page]) => {
  const heard = [];
  const model = {
    get: name => ({page, height: 800})[name],
    on: (_, answer) => heard.push(answer),
    off: (_, answer) => heard.splice(heard.indexOf(answer), 1),
    send: async asked => {
      const said = await window.kernel(asked);
      heard.forEach(one => one(said));
    },
  };
  const {default: {render}} = await import(`data:text/javascript,${encodeURIComponent(program)}`);
  window.leave = render({model, el: document.body});
  window.listening = () => heard.length;
}
"""
"""A notebook as far as the widget knows it: a model that takes messages to the kernel and back."""


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(compile_game("leduc"), iters=50)


def test_messages_are_answered_as_requests_are(solution: Solution) -> None:
    session = Session(solution)
    said = reply_to(session, {"method": "GET", "path": "/api/search?q=Kh%20rc"})
    assert said["status"] == 200
    assert json.loads(said["text"]) == session.nodes.search("Kh rc")
    for method, path, body, status in (
        ("GET", "/api/nothing", None, 404),
        ("GET", "/api/form/about", None, 404),
        ("POST", "/api/node?id=0", None, 405),
        ("GET", "/api/node?id=10000", None, 400),
        ("GET", "/api/node?id=x", None, 400),
        ("GET", "/api/node", None, 400),
        ("POST", "/api/solve", "[" * 100_000, 400),
        ("POST", "/api/solve", '{"locks": {}, "iterations": 0}', 400),
    ):
        said = reply_to(session, {"method": method, "path": path, "body": body})
        assert said["status"] == status, path
        assert said["text"]
    assert reply_to(session, {})["status"] == 404


@IN_BROWSER[0]
@IN_BROWSER[1]
def test_the_page_in_a_frame(page: Any, solution: Solution) -> None:
    session = Session(solution)
    page.expose_function(
        "kernel", lambda asked: {"number": asked["number"]} | reply_to(session, asked)
    )
    program = (files("tensorcfr.viewer") / "static" / "widget.js").read_text("utf-8")
    page.evaluate(NOTEBOOK, [program, build_page({"mode": "widget"})])
    page.wait_for_selector("iframe")
    frame = page.frames[1]
    frame.wait_for_selector(READY)
    click_to(frame, "raise")
    frame.wait_for_selector("tr td.ev[data-value]")
    assert_shows(frame, solution, "Kh r")
    frame.fill("#search", "Kh rc/Qs")
    frame.wait_for_selector("#found button")
    frame.locator("#search").press("Enter")
    frame.wait_for_selector("tr.chosen")
    assert frame.is_visible("#locks")
    assert page.evaluate("listening()") == 1
    page.evaluate("leave()")
    assert page.evaluate("listening()") == 0


def test_the_widget_of_a_solution(solution: Solution) -> None:
    pytest.importorskip("anywidget")
    made = widget(solution, height=500)
    sent: list[Any] = []
    made.send = sent.append
    made._handle_custom_msg({"number": 3, "method": "GET", "path": "/api/about"}, [])
    assert (made.height, sent[0]["number"], sent[0]["status"]) == (500, 3, 200)
    assert json.loads(sent[0]["text"])["game"] == "leduc"
    with pytest.raises(ValueError, match=r"kuhn.* and leduc.* differ in more than utilities"):
        widget(solution, solve(compile_game("kuhn"), iters=1))


def test_without_anywidget(monkeypatch: pytest.MonkeyPatch, solution: Solution) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _frame.cache_clear()
    with pytest.raises(MissingExtraError, match=r"tensorcfr\[notebook\]"):
        widget(solution)
