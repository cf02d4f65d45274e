"""Commands about played hands: ``hands``, ``respond --habit``, ``play --save-hands``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pokerkit")

from support.command_line import USAGE, invoke, printed, refused
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import simulate
from tensorcfr.hands import hands_of_plays, read_hands, save_hands

RANGES = ("AA,KK,QQ,JJ,T9s,87s", "AA,KK,QQ,T9s,A5s")


@pytest.fixture(scope="module")
def solution() -> Solution:
    options = {"ranges": RANGES, "pot": 100, "stacks": 150, "bets": "50%,a", "raises": "a"}
    game = compile_game("holdem", board="Ts9d6h2c3s", big_blind=10, chip=0.1, **options)
    return solve(game, target="0.2%")


def test_hands_become_a_model_and_a_report(tmp_path: Path, solution: Solution) -> None:
    """Files in, model, counts, leaks and text of trackers out; the model is one of respond."""
    plays = simulate(solution.game, solution, 30, seed=1)
    (tmp_path / "in").mkdir()
    save_hands(hands_of_plays(plays, ("hero", "villain")), tmp_path / "in" / "a.phhs")
    (tmp_path / "in" / "notes.txt").write_text("no hands")
    spot = solution.save(tmp_path / "river.npz")
    model, counts, rows = (tmp_path / name for name in ("m.npz", "c.json", "rows.csv"))
    text = printed(
        *("hands", tmp_path / "in", "--name", "villain", "--spot", spot, "-o", model),
        *("--counts", counts, "--table", rows, "--failures", tmp_path / "failures.csv"),
        *("--write", tmp_path / "out.txt"),
    )
    assert "30 hands of 2 files; 1 not read" in text
    assert "1: the file has no hands in a known format" in text
    assert "notes.txt,0," in (tmp_path / "failures.csv").read_text()
    assert len(read_hands(tmp_path / "out.txt").hands) == 30
    assert "weight" in printed("respond", spot, model, "--weights", "0.5")
    ranges = tmp_path / "ranges.toml"
    ranges.write_text(f'oop = "{RANGES[0]}"\nip = "{RANGES[1]}"\n')
    options = ("--ranges", ranges, "--street", "river", "--tolerance", "0", "--target", "0.2%")
    sizes = ("--bets", "50%,a", "--raises", "a", "--store", tmp_path / "store")
    arguments = ("hands", tmp_path / "in", "--name", "hero", *options, *sizes)
    report = printed(*arguments, "--decisions", tmp_path / "d.json")
    assert "30 hands, 1 of 1 spots solved" in report
    assert len(json.loads((tmp_path / "d.json").read_text())) >= 30
    document = json.loads(printed(*arguments, "--json"))
    assert document["hands"] == 30
    assert document["sessions"]["a.phhs"]["hands"] == 30


def test_refusals(tmp_path: Path, solution: Solution) -> None:
    (tmp_path / "a.phhs").write_text("variant = 'NT'\n")
    assert "--name x: " in refused(USAGE, "hands", tmp_path, "--name", "x")
    assert "which is missing" in refused(USAGE, "hands", tmp_path, "-o", tmp_path / "m.npz")
    assert "belong to the report" in refused(USAGE, "hands", tmp_path, "--most", "3")
    spot = solution.save(tmp_path / "river.npz")
    assert "in place of a game" in refused(USAGE, "respond", "kuhn", "--habit", "call +10%")
    assert "is not a habit" in refused(USAGE, "respond", spot, "--habit", "calls more")


def test_habits_have_prices(tmp_path: Path, solution: Solution) -> None:
    spot = solution.save(tmp_path / "river.npz")
    arguments = ("respond", spot, "--habit", "call +20%", "--weights", "0.5")
    assert "call +20%: costs player 1 " in printed(*arguments)
    document = json.loads(printed(*arguments, "--json"))
    assert document["prices"][0]["against_best"] > document["prices"][0]["against_solution"] > 0
    assert document["gain"][1] > 0


def test_incentives_have_prices(tmp_path: Path, solution: Solution) -> None:
    spot = solution.save(tmp_path / "river.npz")
    arguments = ("respond", spot, "--incentive", "call +5", "--target", "0.2%", "--weights", "0.5")
    assert "call +5: costs player 1 " in printed(*arguments)
    (price,) = json.loads(printed(*arguments, "--json"))["prices"]
    assert price["incentives"] == ["call +5"]
    assert 0 < price["paid_before"] < 5
    assert "cannot be combined" in refused(USAGE, *arguments, "--habit", "call +10%")
    assert "not an incentive" in refused(USAGE, "respond", spot, "--incentive", "call more")


def test_a_session_is_saved(tmp_path: Path, solution: Solution) -> None:
    """The hands of a match, as text of trackers, with the cards of the player."""
    spot, target = solution.save(tmp_path / "river.npz"), tmp_path / "session.txt"
    arguments = ("play", spot, "--blueprint-only", "--plays", "3", "--save-hands", target)
    text = invoke(*arguments, typed="check\ncall\n" * 12).stdout
    found = read_hands(target)
    assert f"wrote {target}: {len(found.hands)} hands" in text
    assert found.hands
    assert not found.failures
    assert all(hand.players == ("you", "solver") and hand.cards[0] for hand in found.hands)
    assert ".phh, .phhs, .txt" in refused(
        USAGE, "play", spot, "--save-hands", tmp_path / "session.csv"
    )
