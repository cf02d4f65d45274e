"""The library of the viewer: its names and files, and what the form keeps in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from support.browsing import built
from tensorcfr import Solution, compile_game, solve
from tensorcfr.formats import read_spot, spot_text
from tensorcfr.games import make_spot
from tensorcfr.viewer.form_fields import fields_of, fitting_chip, spot_of, tree_at
from tensorcfr.viewer.library import LAST, MAX_BYTES, RECENT, Library, default_folder
from tensorcfr.viewer.session import BusyError, Session
from tensorcfr.viewer.spot_form import SpotForm

SPOT: dict[str, Any] = {
    "board": "Td9d6hQdQs",
    "ranges": ["AA:0.5,KK,AJs", "QJs,88"],
    "pot": "5.5",
    "stacks": "97.5",
    "bets": {"river": {"oop": "50%", "ip": "33%,a"}},
    "raises": {"river": "a"},
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "a\0b", ".hidden", "-x", " x", "x "),
        *("x.", "a:b", "CON", "nul", "com1", "LPT9.x", "x" * 81, "a\nb", "~", 7, None, ["a"]),
    ],
)
def test_names_that_are_refused(library: Library, name: Any) -> None:
    for kind in ("spots", "ranges", "solutions"):
        with pytest.raises(ValueError, match="a name has at most 80 letters"):
            library.path(kind, name)
    assert not library.folder.exists()


def test_only_three_kinds(library: Library) -> None:
    for kind in ("", "page.json", "..", None, ["spots"], 5):
        with pytest.raises(ValueError, match="there are no"):
            library.path(kind, "x")


def test_ranges_are_written_read_replaced_and_removed(library: Library) -> None:
    assert library.about()["ranges"] == []
    path = library.write("ranges", "Knopf 50% (80bb)", "AA,KK")
    assert path == library.folder / "ranges" / "Knopf 50% (80bb).txt"
    assert library.read("ranges", "Knopf 50% (80bb)") == "AA,KK"
    with pytest.raises(FileExistsError, match="the file exists"):
        library.write("ranges", "Knopf 50% (80bb)", "QQ")
    assert path.read_text() == "AA,KK"
    library.write("ranges", "Knopf 50% (80bb)", "QQ", force=True)
    (entry,) = library.about()["ranges"]
    assert (entry["name"], entry["bytes"]) == ("Knopf 50% (80bb)", 2)
    library.remove("ranges", "Knopf 50% (80bb)")
    for act in (library.read, library.remove):
        with pytest.raises(ValueError, match="there is no such file"):
            act("ranges", "Knopf 50% (80bb)")


def test_files_that_are_no_entries(library: Library) -> None:
    """Too long, not a text, of another suffix, with a name that nobody could give."""
    folder = library.folder / "ranges"
    folder.mkdir(parents=True)
    (folder / "long.txt").write_bytes(b"A" * (MAX_BYTES + 1))
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (folder / "note.md").write_text("x")
    (folder / ".x.txt").write_text("x")
    assert {entry["name"] for entry in library.about()["ranges"]} == {"long", "binary"}
    with pytest.raises(ValueError, match="more than 1,000,000 bytes"):
        library.read("ranges", "long")
    with pytest.raises(ValueError, match="not a text"):
        library.read("ranges", "binary")


def test_the_page_is_kept(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    assert library.page() == {}
    start = SpotForm(None, library)
    start.keep_page({"form": {"pot": "5.5"}})
    for pot in range(RECENT + 3):
        library.remember({"pot": str(pot)})
    library.remember({"pot": "9"})
    page = Library(library.folder).page()
    assert page["form"] == {"pot": "5.5"}
    pots = [one["pot"] for one in page["recent"]]
    assert pots == ["9", *(str(pot) for pot in range(RECENT + 2, 2, -1) if pot != 9)]
    for damaged in (b"{", b"[]", b"\xff", b'{"recent": 5}', b"[" * 100_000):
        (library.folder / "page.json").write_bytes(damaged)
        assert library.page().get("recent") in (None, 5)
        library.remember({"pot": "1"})
        assert library.page()["recent"] == [{"pot": "1"}]
    assert "the viewer cannot read" in caplog.text
    with pytest.raises(ValueError, match="too long"):
        library.keep_page({"x": "a" * (MAX_BYTES + 1)})


def test_the_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "tensorcfr"


# ------------------------------------------------------------------------------------ the form


def test_a_spot_is_saved_as_a_file_of_this_program(library: Library) -> None:
    start = SpotForm(None, library)
    said = start.save({"kind": "spots", "name": "river", "spot": SPOT})
    rules = read_spot(said["path"])
    assert (rules.pot, rules.stacks, rules.options["chip"]) == (5.5, 97.5, 0.1)
    fields = start.open({"kind": "spots", "name": "river"})["fields"]
    assert (fields["pot"], fields["bets.river"], fields["bets.river.ip"]) == ("5.5", "50%", "33%,a")
    assert fields["split"] == "yes"


def test_a_solution_is_saved_and_opened(library: Library) -> None:
    start = SpotForm(None, library)
    start.begin({"spot": SPOT, "iterations": 5, "threads": 1, "fields": {"pot": "5.5"}})
    assert built(start)["ready"], start.error
    session = start.session
    assert session is not None
    session._thread.join()  # type: ignore[union-attr]
    first = session.solutions[0]
    assert first.is_new
    view = {"address": "#1&shape=grid", "locks": {"* check": {"check": 1}}}
    start.save({"kind": "solutions", "name": "monday", "solution": 0, "view": view})
    assert not first.is_new
    assert start.finish() == []  # Nothing is lost, so nothing is kept.
    again = SpotForm(None, Library(library.folder))
    again.open({"kind": "solutions", "name": "monday"})
    status = built(again)
    assert (status["ready"], status["view"], status["error"]) == (True, view, None)
    assert again.session is not None
    assert again.session.solutions[0].solution.value == first.solution.value
    assert again.fields()["fields"]["stacks"] == "97.5"
    for damaged in ({"address": "https://x"}, {"locks": {"a": 5}}, {"locks": {"a": {"b": "c"}}}):
        with pytest.raises(TypeError, match="page"):
            again.keep_page({"view": damaged})
        library.keep_page(damaged, "monday")
        again.open({"kind": "solutions", "name": "monday"})
        assert built(again)["view"] == {}
    again.open({"kind": "solutions", "name": "monday", "second": True})
    built(again)
    assert len(again.session.solutions) == 2
    assert library.page()["recent"] == [{"pot": "5.5"}]
    for name in ("tuesday", "../monday"):
        with pytest.raises(ValueError, match=r"no such file|a name has"):
            again.open({"kind": "solutions", "name": name})
    for number in (2, -1, True, "0", None):
        with pytest.raises(ValueError, match="there is no solution"):
            again.save({"kind": "solutions", "name": "x", "solution": number, "view": {}})
    (library.folder / "solutions/bad.npz").write_bytes(b"PK")
    again.open({"kind": "solutions", "name": "bad"})
    assert "bad.npz" in built(again)["error"]


def test_solutions_that_nobody_saved_are_kept(library: Library) -> None:
    session = Session(solve(compile_game("kuhn"), iters=5))
    start = SpotForm(session, library)
    start.keep_page({"view": {"address": "#2"}})
    session.solve({"K": {"bet": 1}}, 10_000_000)
    with pytest.raises(BusyError, match="stop it"):
        start.save({"kind": "solutions", "name": "x", "solution": 0, "view": {}})
    paths = start.finish()
    assert [path.stem for path in paths] == list(LAST)
    kept = Solution.load(paths[1])
    assert 0 < kept.iterations < 10_000_000
    assert kept.locks == {"K": {"pass": 0.0, "bet": 1.0}}
    assert library.page(LAST[1]) == {"address": "#2", "locks": {}}


def test_what_was_opened_is_not_kept_again(library: Library) -> None:
    start = SpotForm(Session(solve(compile_game("kuhn"), iters=5)), library)
    assert start.finish() == []
    assert not library.folder.exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    start = SpotForm(None, Library(tmp_path / "file"))
    with pytest.raises(OSError, match="file"):
        start.save({"kind": "ranges", "name": "x", "text": "AA"})
    # It does not stop a solve, nor a user who types.
    start.keep_page({"form": {"pot": "5"}})
    start.begin({"game": "kuhn", "iterations": 5, "fields": {"pot": "5"}})
    assert built(start)["ready"]


def test_a_build_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_forever(*_: Any, **__: Any) -> Any:
        while True:
            time.sleep(0.01)

    monkeypatch.setattr("tensorcfr.viewer.spot_form.compile_game", compile_forever)
    start = SpotForm()
    start.begin({"game": "kuhn", "iterations": 5})
    start.cancel()
    status = built(start)
    assert (status["ready"], status["error"], status["cancelled"]) == (False, None, True)
    monkeypatch.undo()
    start.begin({"game": "kuhn", "iterations": 5})
    assert built(start)["ready"]


def test_spots_that_do_not_fit_are_refused_before_they_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tensorcfr.viewer.spot_form.free_memory", lambda: 1000)
    for act in (SpotForm().size, lambda spot: SpotForm().begin({"spot": spot, "iterations": 1})):
        with pytest.raises(MemoryError, match=r"needs about .* and 1000 bytes are free: give"):
            act(SPOT)
    monkeypatch.undo()
    needed = {name: SpotForm().size(SPOT, name)["bytes"] for name in ("float32", "float64")}
    assert needed["float32"] <= needed["float64"]
    with pytest.raises(ValueError, match="precision must be"):
        SpotForm().size(SPOT, "float16")
    for threads in (0, -1, 1.5, "two", True):
        with pytest.raises(ValueError, match="threads must be"):
            SpotForm().begin({"spot": SPOT, "iterations": 1, "threads": threads})


# ---------------------------------------------------------------------------------- its fields


@pytest.mark.parametrize(
    ("options", "chip"),
    [
        ({"pot": 100, "stacks": 200}, 1),
        ({"pot": 5.5, "stacks": 97.5}, 0.1),
        ({"pot": 5.5, "stacks": [97.25, 98]}, 0.01),
        ({"pot": 100, "stacks": 200, "bets": {"river": "50%,2.5c"}}, 0.1),
        ({"pot": 100, "stacks": 200, "add": ["check bet12.75"]}, 0.01),
        ({"pot": 100, "stacks": 200, "raises": "2.5x"}, 1),
        ({"pot": 1e-9, "stacks": 1}, 1e-6),
    ],
)
def test_the_chip_that_fits(options: dict[str, Any], chip: float) -> None:
    assert fitting_chip(options) == pytest.approx(chip)


def test_a_decimal_pot_just_works() -> None:
    size = SpotForm().size(SPOT)
    assert (size["chip"], size["pot"]) == (0.1, 5.5)
    twin = make_spot(
        **SPOT | {"pot": 5.5, "stacks": 97.5, "ranges": tuple(SPOT["ranges"])}, chip=0.1
    )
    assert spot_text(spot_of(SPOT)) == spot_text(twin)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pot": "abc"}, "pot must be a number, not 'abc'"),
        ({"rake": "5 %x"}, "rake must be a number"),
        ({"chip": "x"}, "chip must be a number"),
        ({"merging": "nan"}, "merging"),
        ({"stacks": "9,x"}, "'x' is not a number"),
        ({"chip": "1"}, "multiple of the smallest chip"),
    ],
)
def test_numbers_that_are_none(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spot_of(SPOT | change)


def test_fields_make_the_spot_that_they_come_from() -> None:
    options = {
        **{"board": "Td9d6h", "ranges": ("AA,KK", "QQ"), "pot": 5.5, "stacks": 97.5, "chip": 0.5},
        **{"rake": 0.05, "rake_cap": 3, "add_allin": 2.0, "force_allin": 0.2, "merging": 0.0},
        **{"bets": {"flop": "50%", "turn": {"oop": "e", "ip": "75%"}, "river": ""}},
        **{"raises": "2.5x,a", "donk": {"turn": "30%", "river": ""}, "dead": "2c2d"},
        **{"add": ("check bet4",), "remove": ("bet3",), "folded": ("random, !top 25%",)},
    }
    rules = make_spot(**options)
    fields = fields_of(rules.options)
    assert fields["rake"] == "5"
    assert fields["donk.river"] == "-"
    sizes: dict[str, Any] = {
        name: {
            street: {"oop": fields[f"{name}.{street}"], "ip": fields[f"{name}.{street}.ip"]}
            for street in ("flop", "turn", "river")
        }
        for name in ("bets", "raises")
    }
    given = {
        **{name: fields[name] for name in ("board", "pot", "stacks", "chip", "rake_cap", "dead")},
        **{name: f"{fields[name]}%" for name in ("rake", "add_allin", "force_allin", "merging")},
        **{name: fields[name].split("\n") for name in ("add", "remove", "folded")},
        **{"ranges": [fields["oop"], fields["ip"]], **sizes},
        "donk": {street: fields[f"donk.{street}"] for street in ("turn", "river")},
    }
    again = spot_of(given)
    for name in ("bets", "raises", "donks", "added", "removed", "merging", "force_allin", "stack"):
        assert getattr(again.betting, name) == getattr(rules.betting, name), name
    assert (again.rake, again.rake_cap, again.dead) == (rules.rake, rules.rake_cap, rules.dead)


WASM = {
    **{"startingPot": 55, "effectiveStack": 975, "rakePercent": 5, "rakeCap": 30},
    **{"donkOption": False, "addAllInThreshold": 150, "forceAllInThreshold": 15},
    "mergingThreshold": 10,
    **{
        f"{seat}{street}{kind}": "50" if seat == "oop" else "33"
        for seat in ("oop", "ip")
        for street in ("Flop", "Turn", "River")
        for kind in ("Bet", "Raise")
    },
}
PIO = """
set_board Td9d6hQdQs
set_range OOP AA
set_range IP KK
set_pot 0 0 50
set_eff_stack 100
add_line 0 25 25
add_line 0 0 0
"""


def test_texts_of_other_programs() -> None:
    read = SpotForm().read
    found = read(json.dumps(WASM))["fields"]
    assert (found["pot"], found["rake"], found["bets.flop"], found["bets.flop.ip"]) == (
        *("55", "5", "50", "33"),
    )
    assert "oop" not in found
    found = read(PIO)["fields"]
    assert (found["board"], found["oop"], found["pot"]) == ("Td9d6hQdQs", "AA", "50")
    assert found["bets.river"] == ""  # Its tree has lines, and no sizes.
    own = read(spot_text(spot_of(SPOT)))["fields"]
    assert own == fields_of(spot_of(SPOT).options)
    script = "set_pot 50\nset_effective_stack 200\nset_board Qs,Jh,2h\nset_range_ip AA\n"
    script += "set_range_oop KK\n"
    assert read(script)["fields"]["oop"] == "KK"
    for text in ("", "hello", "[1, 2]", "<html>", "pot = 5"):
        with pytest.raises(ValueError, match="the text"):
            read(text)
    with pytest.raises(ValueError, match=r"spot\.json"):
        read("x = 1", "spot.json")
    for text in (None, 5, ["pot"]):
        with pytest.raises(TypeError, match="a spot must be a text"):
            read(text)


def test_the_tree_at_a_line() -> None:
    rules = spot_of(SPOT)
    root = tree_at(rules, [])
    assert (root["player"], root["street"], root["pot"]) == ("oop", "river", 5.5)
    assert [one["label"] for one in root["actions"]] == ["check", "bet2.8"]
    assert root["actions"][1]["share"] == pytest.approx(2.8 / 5.5)
    checked = tree_at(rules, ["check", "bet1.8", "nothing"], "100%")
    assert checked["actions"][-1] == {"label": "allin", "share": pytest.approx(95.7 / 9.1)}
    # A raise by all of the pot after the call: 1.8 to call, and 5.5 + 2 * 1.8 on top.
    assert [step["action"] for step in checked["line"]] == ["check", "bet1.8"]
    assert (checked["to_call"], checked["added"]) == (1.8, "raise10.9")
    assert tree_at(rules, [], "a")["added"] == "allin"
    assert tree_at(rules, [], "1c")["added"] == "bet1"
    assert tree_at(rules, ["bet2.8", "fold"])["player"] is None
    with pytest.raises(ValueError, match="one size can be added"):
        tree_at(rules, ["bet2.8", "allin"], "50%")
    with pytest.raises(ValueError, match="is not a size"):
        tree_at(rules, [], "many")
    for line in (None, "check", [1]):
        with pytest.raises(TypeError, match="a line must be"):
            tree_at(rules, line)
    grown = spot_of(SPOT | {"add": ["check bet4.1"], "remove": ["bet2.8"]})
    assert [one["label"] for one in tree_at(grown, [])["actions"]] == ["check"]
    labels = [one["label"] for one in tree_at(grown, ["check"])["actions"]]
    assert labels == ["check", "bet1.8", "bet4.1", "allin"]
