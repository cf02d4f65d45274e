"""Trees as text for Graphviz, notebook representations, live progress."""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from support.command_line import USAGE, printed, refused
from tensorcfr import Chance, Decision, Game, Policy, Terminal, compile_game, solve
from tensorcfr._util import html
from tensorcfr.algorithms import CHANCE_SAMPLING
from tensorcfr.analysis import walkthrough
from tensorcfr.errors import MissingExtraError
from tensorcfr.plots import LiveProgress, draw, iteration_tree, tree_source
from tensorcfr.solvers import Progress, Solution, TracePoint

KUHN = compile_game("kuhn")
NODE = re.compile(r"^  (\d+) \[(.*)\];$")
EDGE = re.compile(r'^  (\d+) -> (\d+) \[label="(.*)"\];$')
JOINED = re.compile(r"^  (\d+) -> (\d+) \[dir=none")


@cache
def solved() -> Solution:
    """Solved by a test: every process imports this file, and would compile the kernels."""
    return solve(KUHN, iters=100)


class Checker(HTMLParser):
    """Checks that tags are closed in order, and that nothing can run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        assert not any(name.startswith("on") or "url(" in (value or "") for name, value in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(text: str) -> str:
    """The text of a representation that is well formed."""
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    return " ".join(checker.text.split())


def test_the_tree_has_every_history_and_every_step() -> None:
    lines = tree_source(KUHN, solved()).splitlines()
    nodes = {int(m[1]): m[2] for line in lines if (m := NODE.match(line))}
    steps = {(int(m[1]), int(m[2])): m[3] for line in lines if (m := EDGE.match(line))}
    tree = KUHN.tree
    assert sorted(nodes) == list(range(tree.n_nodes))
    assert set(steps) == {(int(tree.parent[n]), n) for n in range(1, tree.n_nodes)}
    for node, paid in zip(tree.terminal.tolist(), tree.utility.tolist(), strict=True):
        assert f'label="{paid[0]:g}, {paid[1]:g}"' in nodes[node]
    for (node, _), label in steps.items():
        if tree.player[node] >= 0:
            infoset = KUHN.infoset_labels[tree.infoset[node]]
            action, probability = label.split()
            assert probability == f"{solved().policy[infoset][action]:.3f}"
            assert f'label="{infoset}"' in nodes[node]
    joined = [(int(m[1]), int(m[2])) for line in lines if (m := JOINED.match(line))]
    # Each of the 12 infosets has two histories.
    assert len(joined) == 12
    assert all(tree.infoset[a] == tree.infoset[b] for a, b in joined)


def test_labels_cannot_break_out() -> None:
    class Awkward(Game):
        def node(self, state: tuple[str, ...]) -> object:
            if not state:
                return Chance({'"]; evil [': 0.5, "a\\": 0.5})
            if len(state) == 1:
                return Decision(0, f'<b>"{state[0]}"&', ('<script>alert("1")</script>', "\n"))
            return Terminal((1.0, -1.0))

    game = compile_game(Awkward())
    text = tree_source(game)
    assert r"\"]; evil [" in text
    assert all(line.count('"') % 2 == 0 for line in text.replace('\\"', "").splitlines())
    assert '<script>alert("1")</script>' in read(Policy.uniform(game)._repr_html_())


def test_too_large_trees_are_refused() -> None:
    leduc = compile_game("leduc")
    with pytest.raises(ValueError, match="leduc has 9,457 histories"):
        tree_source(leduc)
    assert tree_source(leduc, most=10_000)
    with pytest.raises(ValueError, match="strategy is for kuhn, not for leduc"):
        tree_source(leduc, solved(), most=10_000)


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("graphviz")
    picture = draw(KUHN, solved())
    assert picture.source == tree_source(KUHN, solved())
    with pytest.raises(ValueError, match="is not a picture format"):
        draw(KUHN, path=tmp_path / "kuhn.doc")


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(MissingExtraError, match=r"tensorcfr\[draw\]"):
        draw(KUHN)


def test_on_the_command_line(tmp_path: Path) -> None:
    assert printed("draw", "kuhn") == tree_source(KUHN)
    file = solved().save(tmp_path / "kuhn.npz")
    path = tmp_path / "kuhn.dot"
    assert printed("draw", file, "-o", path) == f"wrote {path}\n"
    assert path.read_text() == tree_source(KUHN, solved())
    assert printed("draw", "kuhn", "-o", path) == f"wrote {path}\n"  # Replaces it.
    assert path.read_text() == tree_source(KUHN)
    assert "is not drawn" in refused(USAGE, "draw", "leduc")


def test_notebook_representations() -> None:
    assert "kuhn: 2 players, zero-sum" in read(KUHN._repr_html_())
    said = read(solved()._repr_html_())
    assert f"exploitability {solved().exploitability:.6g}" in said
    trace = solved().trace
    assert f"{trace[-1].exploitability:.4g}" in read(trace._repr_html_())  # type: ignore[attr-defined]
    assert trace == tuple(trace)
    policy = read(solved().policy._repr_html_())
    assert f"bet {solved().policy['K']['bet']:.3f}" in policy
    assert "and 912 more infosets" in read(Policy.uniform(compile_game("leduc"))._repr_html_())
    three = solve(compile_game("kuhn(players=3)"), iters=2)
    assert "does not bound" in read(three._repr_html_())
    for shown in (KUHN, solved(), solved().policy, trace, three):
        text = shown._repr_html_()  # type: ignore[attr-defined]
        assert len(text) < 20_000
        # No ground and no ink of its own: the page may be dark.
        assert not re.search(r"background:(?!transparent)|[^-]color:", text)


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)], [(1.0, 0.0), (2.0, 0.0)], [(0.0, 1.0)]])
def test_a_curve_without_points(points: list[tuple[float, float]]) -> None:
    assert html.curve(points) == ""


def test_a_curve_goes_through_its_points() -> None:
    text = html.curve([(1.0, 1.0), (10.0, 0.1), (100.0, 0.01)])
    (line,) = re.findall(r'polyline points="([^"]*)"', text)
    places = [tuple(map(float, point.split(","))) for point in line.split()]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert y2 > y0  # Downwards is larger in SVG.


def test_live_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("IPython")
    shown: list[str] = []

    class Handle:
        def update(self, picture: object) -> None:
            shown.append(picture.data)  # type: ignore[attr-defined]

    def display(picture: object, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(picture.data)  # type: ignore[attr-defined]
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    hook = LiveProgress(every=0.0)
    solution = solve(KUHN, iters=50, checkpoints=10, progress=hook)
    assert "iterations 50 of 50" in read(shown[-1])
    assert "<svg" in shown[-1]
    assert solution.iterations == 50
    rare = LiveProgress(every=1e9)
    before = len(shown)
    for iteration in (1, 2, 3):
        rare(Progress(iteration, 3, 0.0, TracePoint(1, 1, 0.0, 1.0, 0.5), 0))
    assert len(shown) == before + 2  # The first and the last.


def test_live_progress_without_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(MissingExtraError, match=r"tensorcfr\[notebook\]"):
        LiveProgress()


class TestIterationTree:
    def test_a_deal_has_every_number(self, tmp_path: Path) -> None:
        walked = walkthrough(KUHN, CHANCE_SAMPLING(alternating=False), iters=2, deal=("Q", "K"))
        figure = iteration_tree(walked.iterations[1], path=tmp_path / "two.png")
        (ax,) = figure.axes
        assert ax.get_title(loc="left") == "iteration 2, dealt Q, K"
        drawn = [text.get_text() for text in ax.texts]
        arrow = "\N{RIGHTWARDS ARROW}"
        # The numbers of docs/walkthrough.md, which are those of a tutorial.
        assert (
            f"Qpb:  -1, 1\nregret 0.25, -0.25 {arrow} 0.25, -1.25\nstrategy 1, 0 {arrow} 1, 0\n"
            f"sum 0.25, 0.25 {arrow} 0.25, 0.25"
        ) in drawn
        assert {"pass 0", "bet 1", "-2, 2", "1, -1"} <= set(drawn)
        assert len(drawn) == 9 + 8
        assert (tmp_path / "two.png").stat().st_size > 0

    def test_a_whole_game_has_its_labels_and_joins_infosets(self) -> None:
        (iteration,) = walkthrough(KUHN, "cfr", iters=1).iterations
        (ax,) = iteration_tree(iteration).axes
        drawn = [text.get_text() for text in ax.texts]
        assert len(drawn) == 58 + 57
        assert all(drawn.count(label) == 2 for label in ("Jb", "Kpb"))
        joining = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
        assert len(joining) == KUHN.n_infosets
        # No two lie on one another.
        spans = sorted((line.get_xdata()[0], sorted(line.get_ydata())) for line in joining)
        for (x, one), (other_x, other) in pairwise(spans):
            assert x != other_x or one[1] < other[0]

    def test_refusals(self, tmp_path: Path) -> None:
        (iteration,) = walkthrough(KUHN, "external_sampling", iters=1, seed=1).iterations
        with pytest.raises(ValueError, match="iteration 1 shows no histories: fix a deal"):
            iteration_tree(iteration)
        with pytest.raises(ValueError, match=r"cannot draw to .*two\.doc"):
            iteration_tree(iteration, path=tmp_path / "two.doc")
