"""The page of single iterations: its numbers and their sums, its keys, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from support.browsing import IN_BROWSER, READY, open_page, served
from support.command_line import USAGE, printed, refused
from support.tiers import tiered
from tensorcfr import Chance, Decision, Game, Terminal, compile_game, solve
from tensorcfr.analysis import iteration_events
from tensorcfr.sweep import read_algorithm
from tensorcfr.viewer import iteration_page
from tensorcfr.viewer.rounding import rounded
from tensorcfr.viewer.session import Session


class Signal(Game):
    """A game of one's own: a sender knows a coin, a receiver hears a word of it."""

    def node(self, history: Any) -> Any:
        if not history:
            return Chance({"<b>heads</b>": 0.25, "tails": 0.75})
        if len(history) < 3:
            infoset = f"hears {history[1]}" if len(history) == 2 else f"sees {history[0]}"
            return Decision(len(history) - 1, infoset, ("yes", "no"))
        right = (history[2] == "yes") == (history[0] == "tails")
        return Terminal((2.0 if history[2] == "yes" else 0.0, float(right)))


CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "kuhn": ("kuhn", "cfr", {}),
    "leduc": ("leduc", "cfr+", {"line": ("Ks", "Qh", "raise", "call")}),
    "dice": ("liars_dice(faces=2)", "external_sampling", {"seed": 1}),
    "outcome": ("kuhn", "outcome_sampling", {"seed": 3}),
    "chance": ("kuhn", "chance_sampling", {"seed": 3}),
    "own": (Signal(), "dcfr", {}),
    "instant": ("kuhn", "icfr+", {}),
    "predictive": ("kuhn", "pcfr+", {}),
}

ALL_NUMBERS = """
stride => {
  const shown = [], status = document.querySelector(".now");
  for (let event = 0; ; event++) {
    const names = [...document.querySelectorAll(".number")].map(one => one.dataset.name);
    const skips = event % stride !== 0;
    for (const name of skips ? [] : names) {
      const button = () => document.querySelector(`.number[data-name="${name}"]`);
      button().click();
      const sum = document.querySelector(".sum"), node = Number(status.dataset.node);
      const lines = [...sum.querySelectorAll("p")].map(p => p.textContent);
      const value = Number(button().dataset.value), result = Number(sum.dataset.result);
      shown.push({event, node, name, value, result, lines});
    }
    document.querySelector("[data-do=node]").click();
    if (Number(status.dataset.event) === event) return shown;
  }
}
"""
"""Go through all events, click all numbers at every ``stride``-th one, and return the numbers and
the results of their sums."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The page of a case, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def of(name: str) -> str:
        game, algorithm, options = CASES[name]
        page = iteration_page(compile_game(game), read_algorithm(algorithm), iters=2, **options)
        return page.save(folder / f"{name}.html").as_uri()

    return of


def expected_numbers(data: dict[str, Any], row: dict[str, Any], flat: list[Any]) -> list[float]:
    """Return the numbers that may be shown: those of the record at the event."""
    iteration, update, _ = flat[row["event"]]
    node, (name, _, last) = data["nodes"][row["node"]], row["name"].rpartition(" ")
    if row["name"] == "value":
        return [update["value"][row["node"]]]
    index = int(last)
    if name == "reach":
        return [update["reach"][row["node"]][index]]
    k = node["infoset"]
    if name == "strategy":
        return [update["strategy"][k][index]]
    if name == "value after":
        children = [n for n, one in enumerate(data["nodes"]) if one["parent"] == row["node"]]
        return [update["value"][children[index]]]
    done = {(id(u), kind, at) for i, u, (kind, at) in flat[: row["event"] + 1] if i is iteration}
    learned = [
        (one, (id(u), "regret", at) in done)
        for u in iteration["updates"]
        for at, one in enumerate(u["learned"])
        if one["infoset"] == k
    ]
    if name == "instantaneous regret":
        return [one["instant"][index] for one, over in learned if over]
    if name == "next strategy":
        return [one["new_strategy"][index] for one, over in learned if over]
    if name == "regret sum":
        return [one["new_regret"][index] for one, over in learned if over] or [
            iteration["regret"][k][index]
        ]
    assert name == "strategy sum"
    added = [
        one["new_strategy_sum"][index]
        for u in iteration["updates"]
        for at, one in enumerate(u["averaged"])
        if one["infoset"] == k and (id(u), "average", at) in done
    ]
    return added[-1:] or [iteration["strategy_sum"][k][index]]


class TestInTheBrowser:
    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("name", tiered(CASES, ["kuhn"]))
    def test_every_number_and_its_sum(
        self, page: Any, address: Callable[[str], str], name: str
    ) -> None:
        """Each shown number is that of the record, whose numbers equal a slow recursion's, and the
        sum that it opens has this result."""
        game, algorithm, options = CASES[name]
        events = iteration_events(compile_game(game), read_algorithm(algorithm), iters=2, **options)
        data = json.loads(json.dumps(rounded(events.to_dict())))
        flat = [
            (iteration, iteration["updates"][one["update"]], tuple(event))
            for iteration in data["iterations"]
            for one in iteration["passes"]
            for event in one["events"]
        ]
        # A prime, so that events of all kinds are among them.
        stride = 1 if len(flat) < 150 else 13
        page.goto(address(name))
        page.wait_for_selector(READY)
        rows = page.evaluate(ALL_NUMBERS, stride)
        assert rows[-1]["event"] >= len(flat) - stride
        for row in rows:
            (expected,) = expected_numbers(data, row, flat)
            assert row["value"] == expected
            assert row["result"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert row["lines"]
        names = {row["name"].rstrip(" 0123456789") for row in rows}
        assert names == {
            *("reach", "value", "strategy", "value after", "instantaneous regret"),
            *("regret sum", "next strategy", "strategy sum"),
        }

    def test_the_words_of_a_sum(self, page: Any, address: Callable[[str], str]) -> None:
        """The tutorial's numbers at the queen against the king, in one of CFR's deals: -1.25 after
        a pass, -0.875 before; chance deals it with 1/6."""
        page.goto(address("kuhn"))
        page.wait_for_selector(READY)
        while page.text_content(".now .event") != "regrets and next strategy of Q":
            page.keyboard.press("ArrowRight")
        page.click("[data-name='instantaneous regret 0']")
        words = page.locator(".sum p").all_text_contents()
        minus = "\N{MINUS SIGN}"
        difference = f"{minus}1.25 {minus} ({minus}0.875) = {minus}0.375"
        assert words[1] == (
            f"Q K: {difference}, \N{MULTIPLICATION SIGN} reach 1/6 (chance: 1/6 "
            f"\N{MULTIPLICATION SIGN} player 1: 1) = {minus}0.0625"
        )
        assert words[0].startswith("Q J: ")
        assert words[2].endswith(f"= {minus}0.125")

    def test_keys(self, page: Any, address: Callable[[str], str]) -> None:
        page.goto(address("kuhn"))
        page.wait_for_selector(READY)

        def at() -> int:
            return int(page.get_attribute(".now", "data-event"))

        def press(*keys: str) -> str:
            for key in keys:
                page.keyboard.press(key)
            return str(page.text_content(".now"))

        assert at() == 0
        assert press("ArrowRight", "ArrowRight", "ArrowLeft").startswith(
            "iteration 1 · pass 1 of 6"
        )
        assert at() == 1
        assert "pass 2 of 6: backward pass of player 0" in press("ArrowDown")
        assert at() == 58
        assert "pass 3 of 6: forward pass of player 0: average" in press("ArrowDown")
        assert "pass 2 of 6" in press("ArrowUp")
        assert at() == 58
        assert press("PageDown").startswith("iteration 2 · pass 1 of 6")
        assert press("PageUp").startswith("iteration 1 · pass 1 of 6")
        press("End")
        end = at()
        press("ArrowRight")
        assert at() == end
        press("Home")
        assert at() == 0
        press(" ")
        page.wait_for_function("document.querySelector('.now').dataset.event >= 2")
        press(" ")
        assert page.text_content("[data-do=play]").endswith("play")
        stopped = at()
        page.wait_for_timeout(900)
        assert at() == stopped
        theme = page.get_attribute("html", "data-theme")
        press("t")
        assert page.get_attribute("html", "data-theme") != theme
        page.locator(".number").first.click()
        assert page.locator(".sum").count() == 1
        press("Escape")
        assert page.locator(".sum").count() == 0

    def test_buttons_and_nodes(self, page: Any, address: Callable[[str], str]) -> None:
        page.goto(address("leduc"))
        page.wait_for_selector(READY)
        page.click("[data-do=pass]")
        assert "backward pass" in page.text_content(".now")
        page.click("[data-do=back]")
        assert "forward pass" in page.text_content(".now")
        page.click("[data-do=iteration]")
        assert page.text_content(".now").startswith("iteration 2")
        page.click("[data-do=start]")
        assert page.get_attribute(".now", "data-event") == "0"
        page.locator(".box[data-node='1']").click()
        assert page.text_content(".panel h2") == "Ks Qh raise call Js"
        merged = "merged with Kh rc/Js, Ks rc/Jh, Kh rc/Jh: the solver stores one infoset for all"
        assert page.text_content(".merged").startswith(merged)
        page.locator(".controls input").fill("5")
        assert page.get_attribute(".now", "data-event") == "5"

    def test_the_sampled_branch(self, page: Any, address: Callable[[str], str]) -> None:
        page.goto(address("dice"))
        page.wait_for_selector(READY)
        drawn, left = page.locator(".edge.drawn").count(), page.locator(".box.left").count()
        assert drawn > 0
        assert left > 0
        assert drawn + 1 + left == page.locator(".box").count()

    @pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
    @pytest.mark.parametrize("name", tiered(["kuhn", "dice", "own"], ["kuhn"]))
    def test_widths_and_themes(
        self, browser: Any, address: Callable[[str], str], name: str, width: int, scheme: str
    ) -> None:
        """No page is wider than the screen, and text differs from its ground in brightness."""
        view = {"width": width, "height": 844}
        opened = browser.new_page(viewport=view, color_scheme=scheme)
        opened.goto(address(name))
        opened.wait_for_selector(READY)
        assert opened.get_attribute("html", "data-theme") == scheme
        opened.keyboard.press("ArrowDown")
        opened.locator(".number").last.click()
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        tree, panel = (opened.locator(one).bounding_box() for one in (".tree", ".panel"))
        if width == 390:
            assert tree["y"] + tree["height"] <= panel["y"]
        else:
            assert tree["x"] + tree["width"] <= panel["x"]
        brightness = opened.evaluate(
            "() => ['color', 'backgroundColor'].map(name => getComputedStyle(document.body)[name]"
            ".match(/[0-9]+/g).slice(0, 3).reduce((sum, x) => sum + Number(x), 0) / 765)"
        )
        assert abs(brightness[0] - brightness[1]) > 0.6
        opened.close()

    def test_in_the_viewer(self, page: Any) -> None:
        with served(solve(compile_game("leduc"), "cfr+", iters=20)) as server:
            open_page(page, server.url)
            page.keyboard.press("i")
            page.wait_for_selector("#player[data-ready]")
            assert "315 of 9,457 histories, after Js Jh" in page.text_content("#player header")
            assert not page.is_visible("#look")
            page.keyboard.press("ArrowDown")
            assert "backward pass" in page.text_content("#player .now")
            page.fill("#iterations-line", "Ks,Qh,raise")
            page.keyboard.press("Enter")
            page.wait_for_selector("#player header:has-text('after Ks Qh raise')")
            page.click("#hide-iterations")
            assert page.is_visible("#look")

    def test_refusals_in_the_viewer(self, tolerant: Any) -> None:
        with served(solve(compile_game("liars_dice"), "cfr+", iters=1)) as server:
            open_page(tolerant, server.url)
            tolerant.click("#show-iterations")
            tolerant.wait_for_selector("#iterations-note:has-text('8,191 histories to show')")

    def test_in_a_notebook(self, page: Any) -> None:
        text = iteration_page(compile_game("kuhn"), "cfr", iters=1)._repr_html_()
        page.set_content(text)
        frame = page.frame_locator("iframe")
        frame.locator(READY).wait_for()
        frame.locator("[data-do=pass]").click()
        assert "backward pass" in frame.locator(".now").text_content()


class Loader(HTMLParser):
    """Notes everything that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        loading = {"src", "href", "srcset", "action"}
        self.loads += [value for key, value in attributes if key in loading and value != "data:,"]


def test_on_the_command_line(tmp_path: Path) -> None:
    page, other = tmp_path / "out.html", tmp_path / "other.html"
    words = ("walkthrough", "kuhn", "--html", page)
    assert printed(*words, "--algorithm", "cfr+") == f"wrote {page}\n"
    text = page.read_text("utf-8")
    loader = Loader()
    loader.feed(text)
    assert not loader.loads
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert len(text) < 120_000
    assert "out.html" in refused(USAGE, *words)
    printed(*words, "--force")
    said = refused(USAGE, "walkthrough", "liars_dice(faces=5)", "--algorithm=cfr", "--html", other)
    assert "histories to show, more than 1,000; show a part with line" in said
    assert not other.exists()
    printed("walkthrough", "kuhn", "--algorithm=cfr", "--html", other, "--line", "Q, K,pass")
    assert "--line takes --html" in refused(USAGE, "walkthrough", "kuhn", "--line", "Q")


def test_requests_of_the_viewer() -> None:
    session = Session(solve(compile_game("kuhn"), "cfr", iters=3))
    data = session.iterations("Q, K")
    assert data["path"] == ["Q", "K"]
    assert len(data["iterations"]) == 2
    with pytest.raises(KeyError, match="there is no step 'X'"):
        session.iterations("X")
    exact = Session(solve(compile_game("kuhn"), "lp"))
    with pytest.raises(ValueError, match="lp does not iterate"):
        exact.iterations("")
    chunks = Session(solve(compile_game("leduc", cut=True), "cfr", iters=1))
    with pytest.raises(ValueError, match="flat"):
        chunks.iterations("")
