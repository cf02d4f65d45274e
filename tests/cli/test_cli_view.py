"""The command ``view``: which solution it shows, beside which other, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import USAGE, printed, refused
from tensorcfr import Solution, compile_game, solve
from tensorcfr.viewer.page import DIGITS


def data_of(page: Path) -> dict[str, Any]:
    """What the program of a page begins with."""
    text = page.read_text("utf-8")
    begin = text.index(">", text.index('id="boot"')) + 1
    found: dict[str, Any] = json.loads(text[begin : text.index("</script>", begin)])
    return found


def strategies(page: Path, index: int) -> dict[str, list[float]]:
    """Probabilities by infoset in one of the solutions of a page."""
    nodes = data_of(page)["nodes"][index]
    return {row["infoset"]: row["p"] for node in nodes.values() for row in node["hands"]}


def expected(solution: Solution) -> dict[str, list[float]]:
    """Those of a solution, with the digits of a page."""
    return {
        label: [float(f"{p:.{DIGITS}g}") for p in solution.policy[label].values()]
        for label in solution.game.infoset_labels
    }


def test_a_page_of_two_saved_solutions(tmp_path: Path) -> None:
    game = compile_game("kuhn")
    few, many = solve(game, "cfr+", iters=3), solve(game, "cfr+", iters=40)
    first, second = few.save(tmp_path / "few.npz"), many.save(tmp_path / "many.npz")
    page = tmp_path / "page.html"
    told, wrote = printed("view", first, second, "--html", page).splitlines()
    assert told.startswith(f"{page}: 9 of 9 nodes, about ")
    assert wrote == f"wrote {page}"
    assert strategies(page, 0) == expected(few)
    assert strategies(page, 1) == expected(many)
    assert len(data_of(page)["nodes"]) == 2
    assert "the file exists; --force overwrites it" in refused(USAGE, "view", first, "--html", page)
    # The first nodes: the root and what is next to it.
    printed("view", second, "--html", page, "--most", "3", "--force")
    (nodes,) = data_of(page)["nodes"]
    assert [len(node["path"]) for node in nodes.values()] == [1, 2, 2]
    assert strategies(page, 0).items() <= expected(many).items()


def test_a_page_of_a_game_is_of_its_result(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    printed("view", "kuhn", "--html", page, "--iters", "5", "--algorithm", "cfr+")
    assert strategies(page, 0) == expected(solve(compile_game("kuhn"), "cfr+", iters=5))
    printed("view", "kuhn", "--html", page, "--force")
    assert strategies(page, 0) == expected(solve(compile_game("kuhn"), iters=1000))


def test_a_game_is_solved_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server gets a solution without iterations, and how many to run."""
    asked: list[tuple[Solution, Solution | None, dict[str, Any]]] = []

    def serve(solution: Solution, other: Solution | None, **options: Any) -> None:
        asked.append((solution, other, options))
        options["announce"]("http://here")

    monkeypatch.setattr("tensorcfr.viewer.view", serve)
    saved = solve(compile_game("kuhn"), "cfr+", iters=3).save(tmp_path / "s.npz")
    assert printed("view", "kuhn") == "http://here\n"
    printed("view", "kuhn", "--iters", "7", "--algorithm", "cfr+", "--port", "1234")
    printed("view", saved, saved, "--no-browser")
    solved = [(own.iterations, options["iters"]) for own, _, options in asked]
    assert solved == [(0, 1000), (0, 7), (3, None)]
    assert asked[1][0].algorithm.name == "cfr+"
    assert [options["port"] for *_, options in asked] == [0, 1234, 0]
    assert [options["browser"] for *_, options in asked] == [True, True, False]
    assert [other is not None for _, other, _ in asked] == [False, False, True]


def test_without_a_game_the_form_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr("tensorcfr.viewer.view", lambda **options: asked.append(options))
    printed("view", "--no-browser", "--port", "1234")
    assert [(own["port"], own["browser"]) for own in asked] == [(1234, False)]
    assert "need a solution or a game" in refused(USAGE, "view", "--iters", "5")


def test_refusals(tmp_path: Path) -> None:
    saved = solve(compile_game("kuhn"), "cfr+", iters=1).save(tmp_path / "s.npz")
    for option in (("--iters", "5"), ("--algorithm", "cfr")):
        said = refused(USAGE, "view", saved, *option)
        assert said == f"{saved} is already solved: it takes no --algorithm or --iters"
    said = refused(USAGE, "view", "kuhn", "--algorithm", "external_sampling")
    assert said == (
        "the viewer solves only by algorithms that pass over the whole game, not by "
        "external_sampling: solve the game first and view the solution"
    )
    said = refused(USAGE, "view", "kuhn", saved, "--html", tmp_path / "p.html", "--algorithm", "c")
    assert said.startswith("there is no algorithm 'c'")
    other = solve(compile_game("leduc(ranks=2)"), "cfr+", iters=1).save(tmp_path / "other.npz")
    assert "differ in more than utilities" in refused(
        USAGE, "view", saved, other, "--html", tmp_path / "p.html"
    )
    assert not (tmp_path / "p.html").exists()
