"""The poker table in a real browser: grids, hands, run-outs, locks, the form, and the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import IN_BROWSER, READY, TURN, click_to, open_page, served
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.games import SPOTS
from tensorcfr.games.holdem import grid_label, grid_place
from tensorcfr.games.poker.spot import PLAYERS
from tensorcfr.viewer import save_html
from tensorcfr.viewer.card_nodes import LISTED
from tensorcfr.viewer.page import PageSize
from tensorcfr.viewer.server import Server

pytestmark = IN_BROWSER
CELL = "#strategy .cell"


@pytest.fixture(scope="module")
def turn() -> Solution:
    game = compile_game("holdem", **TURN)
    solve(game, "dcfr", iters=1, precision="float32", locks={"KK": {"allin": 1}})  # Compiles.
    solution = solve(game, "dcfr", iters=10, precision="float32")
    SolvedSpot(solution).runouts("check check *", equity=True)  # Likewise.
    return solution


@pytest.fixture(scope="module")
def server(turn: Solution) -> Iterator[Server]:
    """One for all tests that only look."""
    with served(turn) as running:
        yield running


def cells(page: Any, attribute: str) -> dict[str, list[float]]:
    """The numbers of the cells of the grid that have some, by class of hands."""
    found = page.evaluate(
        """name => [...document.querySelectorAll('#strategy .cell')]
        .filter(cell => cell.dataset[name]).map(cell => [cell.dataset.hand, cell.dataset[name]])""",
        attribute,
    )
    return {hand: [float(number) for number in text.split()] for hand, text in found}


def grid(numbers: np.ndarray) -> dict[str, list[float]]:
    """The same of a grid of Python."""
    at = {(i, j): np.atleast_1d(numbers[i, j]) for i in range(13) for j in range(13)}
    return {
        grid_label(*place): one.tolist() for place, one in at.items() if not np.isnan(one).any()
    }


def assert_alike(
    shown: dict[str, list[float]], expected: dict[str, list[float]], rel: float = 0.0
) -> None:
    assert shown.keys() == expected.keys()
    for hand, numbers in expected.items():
        assert shown[hand] == pytest.approx(numbers, rel=rel, abs=1e-12), hand


def test_the_grid_is_that_of_python(page: Any, server: Server, turn: Solution) -> None:
    """Strategy, expected value, equity and weight, at the start and after a card."""
    spot = SolvedSpot(turn)
    open_page(page, server.url)
    assert page.text_content("#title") == "holdem"
    assert page.text_content("#spot").startswith("T♦9♦6♥Q♦pot 100OOP 150IP 150")
    for line in ("", "check check 7s"):
        if line:
            click_to(page, *line.split())
        table = spot.table(line)
        assert_alike(cells(page, "p"), grid(table.grid(table.strategy)))
        page.click("#shown button:has-text('EV')")
        assert_alike(cells(page, "value"), grid(table.grid(table.value)))
        page.click("#shown button:has-text('equity')")
        page.wait_for_selector(f"{CELL}[data-value]")
        assert_alike(cells(page, "value"), grid(table.grid(table.equity)))
        page.click("#shown button:has-text('strategy')")
        # Half of the aces are left: half of the cell is filled.
        height = page.eval_on_selector(f"{CELL}[data-hand='AA']", "c => c.style.backgroundSize")
        assert float(height.split()[1].rstrip("%")) <= 50.0
        weights = page.locator("#ranges [data-player='0'] [data-hand='AA']")
        left = table.weight[[grid_place(cards) == (0, 0) for cards in table.cards]]
        assert float(weights.get_attribute("data-weight")) == pytest.approx(left.mean(), abs=1e-12)


def test_a_page_for_sharing_has_equities_and_says_its_size(
    page: Any, turn: Solution, tmp_path: Path
) -> None:
    """A part of the game: the line, and no card that comes after it."""
    told: list[PageSize] = []
    path = save_html(turn, tmp_path / "part.html", line="check", street=True, tell=told.append)
    assert told[0].bytes == pytest.approx(path.stat().st_size, rel=0.3)
    table = SolvedSpot(turn).table("check")
    open_page(page, path.as_uri())
    page.click("#shown button:has-text('equity')")
    page.wait_for_selector(f"{CELL}[data-value]")
    assert_alike(cells(page, "value"), grid(table.grid(table.equity)), rel=1e-5)
    click_to(page, "check")
    runouts = SolvedSpot(turn).runouts("check check *", equity=True)
    page.wait_for_selector(f"{CELL}[data-equity]")
    for (card,), equity in zip(runouts.cards, runouts.equity.tolist(), strict=True):
        shown = page.locator(f"{CELL}[data-label='{card}']").get_attribute("data-equity")
        assert float(shown) == pytest.approx(equity, rel=1e-5)


def test_a_cell_that_is_pointed_at_stays_when_equities_come(page: Any, turn: Solution) -> None:
    with served(turn) as server:
        held: list[Any] = []
        page.route("**/api/extra*", lambda route: held.append(route))
        open_page(page, server.url)
        page.hover(f"{CELL}[data-hand='KK']")
        assert page.text_content("#combos h3").startswith("KK")
        assert not page.locator("#combos td.equity").count()
        for route in held:
            route.continue_()
        page.wait_for_selector("#combos h3:has-text('equity')")
        assert page.text_content("#combos h3").startswith("KK")


def test_hands_of_a_cell_and_groups(page: Any, server: Server, turn: Solution) -> None:
    table = SolvedSpot(turn).table()
    open_page(page, server.url)
    page.hover(f"{CELL}[data-hand='KK']")
    assert page.text_content("#combos h3").startswith("KK")
    page.wait_for_selector("#combos td.equity")
    rows = page.locator("#combos tbody tr").all()
    assert len(rows) == 6  # No king is on the board.
    for row in rows:
        at = table.hands.index(row.get_attribute("data-infoset"))
        shown = [float(c.get_attribute("data-q")) for c in row.locator("td.action").all()]
        assert shown == pytest.approx(table.values[at].tolist(), abs=1e-9)
        equity = float(row.locator("td.equity").get_attribute("data-value"))
        assert equity == pytest.approx(table.equity[at], abs=1e-12)
    page.hover("#node-title")
    assert page.text_content("#combos h3").startswith("all hands")
    shares = page.locator("#groups td[data-share]").all()
    draws = page.locator("#groups .group").all_text_contents()
    made = [float(one.get_attribute("data-share")) for one in shares][
        : sum("draw" not in name and name not in ("gutshot", "open-ended") for name in draws)
    ]
    assert sum(made) == pytest.approx(1.0, abs=1e-12)
    page.click("#groups .group:has-text('overpair')")
    assert set(cells(page, "p")) <= {"AA", "KK"}


def test_the_card_that_comes(page: Any, server: Server, turn: Solution) -> None:
    expected = SolvedSpot(turn).runouts("check check *", equity=True)
    open_page(page, server.url)
    click_to(page, "check", "check")
    page.wait_for_selector(f"{CELL}[data-p]")
    assert page.locator(f"{CELL}:not([disabled])").count() == 48
    for k, (card,) in enumerate(expected.cards):
        cell = page.locator(f"{CELL}[data-label='{card}']")
        if expected.probability[k] > 0:
            shown = [float(p) for p in cell.get_attribute("data-p").split()]
            assert shown == pytest.approx(expected.frequency[k].tolist(), abs=1e-12)
            equity = float(cell.get_attribute("data-equity"))
            assert equity == pytest.approx(expected.equity[k], abs=1e-12)


def test_a_class_is_locked_at_once_and_solved_again(page: Any, turn: Solution) -> None:
    with served(turn) as server:
        open_page(page, server.url)
        page.click(f"{CELL}[data-hand='KK']")
        page.click(f"{CELL}[data-hand='AA']", modifiers=["Shift"])
        page.fill("#editor input[data-action='allin']", "1")
        page.click("#lock")
        assert page.text_content("#lock-list li").startswith("KK,AA: allin 1")
        assert page.locator(f"{CELL}.locked").count() == 2
        click_to(page, "check")
        page.click("#lock-all")
        page.fill("#editor input[data-action='check']", "0.5")
        page.click("#lock")
        page.fill("#iterations", "10")
        page.click("#solve")
        page.wait_for_selector("#cost td.cost", timeout=120_000)
        locks = {"KK,AA": {"allin": 1}, "* check": {"check": 0.5}}
        twin = solve(turn.game, turn.algorithm, iters=10, locks=locks)
        shown = float(page.get_attribute("#cost .b[data-player='0']", "data-value"))
        assert shown == twin.value[0]
        # Both solutions side by side, and the line that was gone is still there.
        page.click("#line .where >> nth=0")
        page.wait_for_selector("#node[data-id='0']")
        assert page.locator("#strategy .square").count() == 2
        assert page.locator(f"{CELL}[tabindex='0']").count() == 2
        assert page.locator("#line .stop").count() == 2


def test_the_address_says_it_all(page: Any, server: Server) -> None:
    open_page(page, server.url)
    click_to(page, "check")
    page.click("#shown button:has-text('EV')")
    page.click(f"{CELL}[data-hand='88']")
    page.click("#shapes button:has-text('heat')")
    assert page.url.endswith("#1&shape=heat&show=EV&cell=88")
    page.reload()
    page.wait_for_selector(READY)
    assert page.locator(".heat tbody tr").count() == 6
    page.keyboard.press("v")
    page.keyboard.press("v")
    assert page.get_attribute(f"{CELL}.chosen", "data-hand") == "88"
    assert page.get_attribute("#shown [aria-pressed='true']", "data-key") == "EV"
    page.go_back()
    page.wait_for_selector("#node[data-id='0']")


def test_by_keyboard_alone(page: Any, server: Server) -> None:
    """Every grid, the line and the actions are one tab stop each; arrows move in them."""
    open_page(page, server.url)
    page.wait_for_selector("#combos td.equity, #ranges figcaption:has-text('equity')")
    stops, seen = [], None
    for _ in range(40):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            """() => { const e = document.activeElement;
            return (e.closest('.square, #line, #children, #shown, tbody') || e).tagName
              + (e.closest('.square') ? ' grid' : '') + (e.closest('[id]') || {}).id; }"""
        )
        if stop.startswith("BODY"):
            break
        stops.append(stop)
    assert sum(" grid" in stop for stop in stops) == 1
    for box in ("line", "children", "shown"):
        assert sum(stop.endswith(box) for stop in stops) == 1, stops
    page.focus(f"{CELL}[data-hand='AA']")
    page.keyboard.press("ArrowRight")
    seen = page.evaluate("document.activeElement.dataset.hand")
    assert seen == "AJs"  # Cells without hands are passed over.
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert "cell=AA" in page.url
    assert page.evaluate("document.activeElement.dataset.hand") == "AA"
    page.focus("#line button")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#node[data-id='1']")
    page.keyboard.press("Escape")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#node[data-id='0']")


def test_a_server_that_ended_is_told_at_once(tolerant: Any) -> None:
    with served(solve(compile_game("kuhn"), iters=5)) as server:
        open_page(tolerant, server.url)
    tolerant.click("#children button >> nth=1")
    tolerant.wait_for_selector("#trouble:has-text('the viewer has ended')", timeout=2000)
    assert tolerant.locator("#strategy tbody tr").count() == 3  # What is on the screen stays.


def test_the_form_solves_a_spot(page: Any) -> None:
    game = compile_game("holdem", **(TURN | {"board": "Td9d6hQdQs", "bets": "50%"}))
    solve(game, iters=3, precision="float32")  # Compiles.
    with served() as server:
        open_page(page, server.url)
        page.wait_for_selector("#form-size:has-text('public nodes')")
        page.fill("#form-board", "Td9d6hQd")
        page.click("#deck [data-label='Qs']")
        page.fill("#form-oop", "AA:0.5,KK")
        page.wait_for_selector("#combos-oop:text-is('9 combos')")
        page.click("#paint-oop [data-hand='AJs']")
        page.wait_for_selector("#combos-oop:text-is('13 combos')")
        assert page.input_value("#form-oop") == "AA:0.5,KK,AJs"
        page.click("#paint-oop [data-hand='KK']")
        assert page.input_value("#form-oop") == "AA:0.5,AJs,!KK"
        page.fill("#form-oop", "AA:0.5,KK,AJs")
        page.fill("#form-ip", "QJs,88,no")
        page.wait_for_selector("#form-size.error:has-text('ranges[1]')")
        assert page.is_disabled("#build")
        page.fill("#form-ip", "QJs,88")
        page.fill("#form-pot", "100")
        page.wait_for_selector("#form-size:not(.error)")
        page.reload()  # What was typed is in the address.
        page.wait_for_selector("#form-size:has-text('public nodes')")
        assert page.input_value("#form-ip") == "QJs,88"
        page.fill("#form-iterations", "20")
        page.click("#build")
        page.wait_for_selector("#look:not([hidden])", timeout=120_000)
        page.wait_for_selector(f"{CELL}[data-p]")
        page.wait_for_selector(
            "#brief:has-text('20 iterations'), #brief:has-text('exploitability')"
        )
        assert page.text_content("#spot").startswith("T♦9♦6♥Q")
        page.click("#new-spot")
        page.wait_for_selector("#form:not([hidden])")


def test_the_form_begins_with_ranges_of_the_game(page: Any) -> None:
    """Ranges that somebody has written stay."""
    with served() as server:
        open_page(page, server.url)
        for game in reversed(SPOTS):
            page.select_option("#form-game", game)
            is_painted = SPOTS[game].every_hand().shape[1] == 2
            for seat in PLAYERS:
                state = "visible" if is_painted else "hidden"
                page.wait_for_selector(f"#paint-{seat}", state=state)
                page.wait_for_selector(f"#combos-{seat}:not(.error):has-text('combos')")
            page.wait_for_selector("#form-size:not(.error):has-text('public nodes')")
        page.fill("#form-oop", "AA")
        page.select_option("#form-game", "short_deck")
        assert page.input_value("#form-oop") == "AA"


WALKED: dict[str, tuple[str, dict[str, Any]]] = {
    "kuhn": ("kuhn", {}),
    "leduc": ("leduc", {}),
    "goofspiel": ("goofspiel(cards=3)", {}),
    "liar's dice": ("liars_dice(faces=3)", {}),
    "turn": ("holdem", TURN),
}
STEP = """at => {
  const shown = [...document.querySelectorAll('button, tr[data-infoset], summary')].filter(e =>
    !e.disabled && e.offsetParent !== null &&
    !['solve', 'save-csv', 'save-json', 'new-spot', 'edit-tree', 'show-iterations'].includes(e.id));
  const one = shown[Math.floor(at * shown.length)];
  if (one) one.click();
}"""
KEYS = (
    "1",
    "2",
    "3",
    "Backspace",
    "Home",
    "v",
    "e",
    "t",
    "ArrowDown",
    "ArrowRight",
    "Tab",
    "Enter",
)


@pytest.mark.full
@pytest.mark.parametrize("name", WALKED)
def test_a_walk_of_200_clicks_and_keys(page: Any, name: str) -> None:
    """At random, and no program fails on the way."""
    source, options = WALKED[name]
    solution = solve(compile_game(source, **options), iters=20)
    rng = np.random.default_rng(len(name))
    with served(solution, solution) as server:
        open_page(page, server.url)
        for _ in range(200):
            if rng.random() < 0.5:
                page.evaluate(STEP, float(rng.random()))
            else:
                page.keyboard.press(str(rng.choice(KEYS)))
            if page.locator("dialog[open]").count():
                page.keyboard.press("Escape")
        page.wait_for_timeout(500)
        assert page.locator("#node").get_attribute("data-id") is not None


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_screen(page: Any, turn: Solution, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    with served(turn) as server:
        open_page(page, server.url)
        for step in ("check", "check", "7s"):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            click_to(page, step)
    with served() as server:
        open_page(page, server.url)
        page.wait_for_selector("#paint-ip .cell")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_groups_of_hands_of_four_cards(page: Any, tmp_path: Path) -> None:
    """Rows and columns with names; a place and a group list their likely hands, and say the rest;
    nothing is wider than a phone."""
    spot = {"board": "Td9d6hQcTs", "pot": 100, "stacks": 300, "bets": "pot"}
    game = compile_game("omaha", ranges=("AA,QQ$ds,JT98", "TT,AA$ds:0.5,KJ98"), **spot)
    river = solve(game, iters=10)
    save_html(river, tmp_path / "page.html", most=3)
    page.goto((tmp_path / "page.html").as_uri())
    page.click("#children button >> nth=0")
    table = SolvedSpot(river).table("check")
    cell = "#strategy .cell[data-hand='AA double-suited']"
    page.wait_for_selector(f"{cell}:not([disabled])")
    shown = [float(p) for p in page.get_attribute(cell, "data-p").split()]
    assert shown == pytest.approx(table.grid(table.strategy)[0, 0].tolist(), rel=1e-4, abs=1e-5)
    page.click(cell)
    assert page.locator("#combos tbody tr").count() == LISTED
    count = sum(row["pairs"] == "AA" and row["suits"] == "double-suited" for row in table.rows())
    assert f"of {count:,} hands" in page.inner_text("#combos")
    page.click("#groups .group >> text='no pair'")
    assert page.inner_text("#combos h3").startswith("no pair")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
