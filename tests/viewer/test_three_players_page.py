"""Spots of three players in the viewer: ranges, equities, values, the form, the joint play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browsing import IN_BROWSER, built, click_to, open_page, running, served, wait_for_solve
from support.triples import equities_by_triples
from tensorcfr import Solution, compile_game, solve, viewer
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import regrets
from tensorcfr.errors import CutError
from tensorcfr.formats.spot_files import parse_spot, spot_text
from tensorcfr.games import make_spot
from tensorcfr.viewer.form_fields import FIELDS, fields_of, spot_of
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.server import Server
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.spot_form import SpotForm

SPOT: dict[str, Any] = {
    "board": "Td9d6hQc2s",
    "ranges": ("QQ,TT:0.5,AQs", "JJ,KQs", "99,ATs"),
    "pot": 60,
    "stacks": (100, 200, 150),
    "bets": {"river": {"first": "60%", "middle": "a", "last": "60%"}},
    "raises": "a",
}
LINES = ("", "check", "bet36 call", "bet36 fold")


@pytest.fixture(scope="module")
def river() -> Solution:
    return solve(compile_game("holdem", **SPOT), iters=30, checkpoints=(), precision="float32")


@pytest.fixture(scope="module")
def folded() -> Solution:
    options = SPOT | {"ranges": SPOT["ranges"][:2], "folded": ("99",), "deal_folded": True}
    game = compile_game("holdem", **options | {"stacks": 100, "bets": "60%"})
    return solve(game, iters=30, checkpoints=(), precision="float32")


@pytest.fixture(scope="module")
def session(river: Solution) -> Session:
    return Session(river)


def test_three_seats_with_exact_gains(river: Solution, session: Session) -> None:
    about = session.about()
    assert about["seats"] == ["first", "middle", "last"]
    (shown,) = about["solutions"]
    assert shown["gains"] == list(river.evaluation.gains)
    assert "Players who change together" in shown["guarantee"]
    assert session.node(0, 0)["path"][0]["chips"]["behind"] == (100.0, 200.0, 150.0)


@pytest.mark.parametrize("line", LINES)
def test_equities_and_values_of_three_ranges(session: Session, line: str) -> None:
    """Equities are those of all triples of hands; values of all players sum to 0."""
    nodes, number = session.nodes.nodes, session.nodes.place(line or "start")  # type: ignore[attr-defined]
    node, equity = session.node(number, 0), session.extra("equity", number, 0)
    assert len(node["ranges"]) == 3
    weights = []
    for player, (names, rows) in enumerate(zip(nodes.hands, node["ranges"], strict=True)):
        left = {row["hand"]: row["weight"] for row in rows}
        weights.append(np.array([left[name] for name in names]))
        assert sum(row["p"] for row in rows) == pytest.approx(1.0)
        assert set(equity["hands"][player]) == set(names)
    competing = [0, 2] if line == "bet36 fold" else [0, 1, 2]
    twins = equities_by_triples(nodes.rules, nodes.cards(number), weights, 0, competing)
    for names, own, twin in zip(nodes.hands, equity["hands"], twins, strict=True):
        np.testing.assert_allclose([own[name] for name in names], twin, rtol=0, atol=1e-12)
    assert sum(mean for mean in equity["means"] if mean is not None) == pytest.approx(1.0)
    means = session.extra("values", number, 0)["means"]
    assert sum(means) == pytest.approx(0.0, abs=1e-9)
    assert means[node["player"]] == pytest.approx(node["value"], abs=1e-9)


def test_a_terminal_pays_all_three(session: Session) -> None:
    node = session.node(session.nodes.place("check check check"), 0)
    assert node["kind"] == "terminal"
    assert sum(node["utility"]) == pytest.approx(0.0, abs=1e-9)


def test_the_gap_of_the_joint_play(river: Solution, session: Session) -> None:
    found = session.joint_play(20)
    (point,) = regrets(river.game, CFR_PLUS(alternating=False), checkpoints=[20])
    gaps = {"average": max(point.average), "weighted": max(point.weighted)}
    assert found == {"iterations": 20, **gaps}
    assert 0 < found["weighted"] < found["average"]
    with pytest.raises(ValueError, match="iterations must be"):
        session.joint_play(10**9)


def test_the_joint_play_is_for_games_without_chunks(session: Session) -> None:
    assert session.about()["has_joint_play"]
    turn = SPOT | {
        "board": "Td9d6hQc",
        "ranges": ("QsQh", "JsJd", "9h9s"),
        "bets": "",
        "raises": "",
    }
    in_chunks = Session(solve(compile_game("holdem", **turn), iters=0))
    assert not in_chunks.about()["has_joint_play"]
    with pytest.raises(CutError):
        in_chunks.joint_play(2)


def test_a_folded_hand_is_not_a_third_player_who_acts(folded: Solution, river: Solution) -> None:
    assert (folded.game.n_contestants, river.game.n_contestants) == (2, 3)
    two = solve(compile_game("kuhn"), folded.algorithm, iters=0).guarantee
    assert folded.guarantee == f"Only two players act, so statements about two players hold.  {two}"
    shown = Session(folded).about()
    assert (shown["contestants"], shown["players"]) == (2, 3)
    assert shown["solutions"][0]["meaning"].startswith("Only two of the 3 players act.")
    raked = solve(folded.game.with_options(rake=0.05), iters=0)
    assert "Only two players" not in raked.guarantee
    assert "Players who change together" not in raked.guarantee


def test_refusals_name_the_players(session: Session) -> None:
    with pytest.raises(ValueError, match="training needs two players"):
        session.trainer.deal(0, 0, 0)
    with pytest.raises(ValueError, match="3 players: a report needs two"):
        session.reports.begin("Td9d6hQc2s", 0, 1.0)
    with pytest.raises(ValueError, match="two players"):
        session.respond({"player": 1, "model": "habits", "habits": ["call +5%"], "trust": 5}, 10)


def test_fields_make_the_spot_of_three_that_they_come_from() -> None:
    rules = make_spot(**SPOT)
    fields = fields_of(rules.options)
    assert [fields[name] for name in ("players", "oop", "middle", "ip")] == ["3", *SPOT["ranges"]]
    assert (fields["split"], fields["stacks"]) == ("yes", "100,200,150")
    assert [fields[f"bets.river{end}"] for end in ("", ".middle", ".ip")] == ["60%", "a", "60%"]
    again = spot_of({"stacks": fields["stacks"], **{k: SPOT[k] for k in SPOT if k != "stacks"}})
    assert again.betting == rules.betting
    assert parse_spot(spot_text(rules)).options == {**rules.options, "ranges": list(SPOT["ranges"])}
    with pytest.raises(ValueError, match="donk needs two ranges, not 3"):
        SpotForm().size(SPOT | {"donk": {"river": "30%"}})
    with pytest.raises(ValueError, match="the spot has no ranges"):
        SpotForm().size(SPOT | {"ranges": ["", "", ""]})


def test_no_option_of_a_spot_is_lost_in_the_form() -> None:
    given: dict[str, Any] = dict.fromkeys(FIELDS, "1") | {
        "ranges": ["AA", "KK"],
        "deal_folded": True,
    }
    given |= {name: {"river": "50%"} for name in ("bets", "raises", "donk")}
    given["incentives"] = ("ip call +2", "oop bet -1")
    fields = fields_of(given)
    assert (fields["deal_folded"], fields["incentives"]) == ("yes", "ip call +2\noop bet -1")
    assert {*FIELDS} - {name.partition(".")[0] for name in fields} == {"ranges"}
    assert "deal_folded" not in fields_of(given | {"deal_folded": False})
    # The page takes fields that it knows.
    form = Path(viewer.__file__).with_name("static") / "form.js"
    known = form.read_text().partition("const FIELDS = {")[2].partition("};")[0]
    assert all(f"{name}:" in known for name in ("deal_folded", "incentives", "folded"))


class TestPage:
    """The page in a browser."""

    pytestmark = IN_BROWSER

    def test_three_ranges(self, page: Any, river: Solution) -> None:
        with served(river) as server:
            open_page(page, server.url)
            click_to(page, "bet36", "fold")
            page.wait_for_selector("#graph polyline[data-player='2']")
            # The player who has folded has no equity.
            assert page.locator("#graph polyline").count() == 2
            assert page.locator("#ranges figure").count() == 3
            assert page.locator("#cost th").all_inner_texts()[1:] == ["first", "middle", "last"]
            assert "third of the pot" in page.inner_text("#convention")
            page.fill("#iterations", "20")
            page.focus("#joint-ask")
            page.keyboard.press("Enter")
            page.wait_for_function("() => document.getElementById('joint-said').innerText")
            assert "joint play of 20 iterations" in page.inner_text("#joint-said")
            page.click("#solve")
            page.wait_for_function("() => !document.getElementById('joint-said').innerText")
            assert page.is_hidden("#show-trainer")
            assert page.is_hidden("#show-report")
            assert page.is_hidden("#opponent")

    def test_a_folded_hand(self, page: Any, folded: Solution, tmp_path: Path) -> None:
        with running(Server(Session(folded), library=Library(tmp_path))) as server:
            open_page(page, server.url)
            assert "beyond half of the pot at the start (60 / 2)" in page.inner_text("#convention")
            assert page.is_hidden("#joint")
            page.click("#edit-tree")
            page.wait_for_selector("#build:not([disabled])")
            assert page.is_checked("#form-deal_folded")
            page.fill("#form-incentives", "ip call +2")
            options = page.evaluate("spotOptions()")
            assert (options["deal_folded"], options["incentives"]) == (True, ["ip call +2"])
            page.wait_for_selector("#build:not([disabled])")
            assert spot_of(options).options["deal_folded"]

    def test_the_form_adds_a_player(self, page: Any, tmp_path: Path) -> None:
        with running(Server(None, library=Library(tmp_path))) as server:
            open_page(page, server.url)
            page.fill("#form-board", "Td9d6hQc2s")
            page.select_option("#form-players", "3")
            assert page.evaluate("document.activeElement.id") == "form-players"
            for name, text in zip(("oop", "middle", "ip"), ("QQ", "JJ", "99"), strict=True):
                page.fill(f"#form-{name}", text)
            page.fill("#form-stacks", "100,200,150")
            page.wait_for_function("() => !document.getElementById('build').disabled")
            assert page.inner_text("#form-size").startswith("3 \N{MULTIPLICATION SIGN} 6")
            page.click("#build")
            page.wait_for_selector("#ranges figure >> nth=2", timeout=60_000)
            for seat in ("first 100", "middle 200", "last 150"):
                assert seat in page.inner_text("#spot")
            page.click("#edit-tree")
            page.wait_for_selector("#form-middle")
            assert page.input_value("#form-middle") == "JJ"
            page.select_option("#form-players", "2")
            page.fill("#form-stacks", "100")
            page.wait_for_selector("#form-size:has-text('3 \N{MULTIPLICATION SIGN} 3 hands, ')")


def test_a_spot_of_three_is_built_saved_and_opened(tmp_path: Path) -> None:
    start = SpotForm(library=Library(tmp_path))
    request = {"spot": SPOT | {"ranges": list(SPOT["ranges"])}, "iterations": 4, "threads": 1}
    start.begin(request | {"build_only": True})
    built(start)
    session = start.session
    assert session is not None
    assert session.status()["running"] is None
    session.solve({"* bet36": {"fold": 1}}, 4)
    wait_for_solve(session)
    start.save({"kind": "solutions", "name": "three", "view": {}})
    start.open({"kind": "solutions", "name": "three"})
    built(start)
    assert start.error is None
    opened = start.session
    assert opened is not None
    assert opened is not session
    assert opened.about()["solutions"][0]["locks"]["* bet36"]["fold"] == 1.0
    assert opened.about()["solutions"][0]["iterations"] == 4
