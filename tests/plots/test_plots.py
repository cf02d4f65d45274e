"""The pictures: what is drawn where, and that every name can be read."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib.text
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tensorcfr import Solution, compile_game, solve
from tensorcfr.algorithms import CFR, CHANCE_SAMPLING, DCFR
from tensorcfr.analysis import robust_responses
from tensorcfr.errors import MissingExtraError
from tensorcfr.plots import (
    check_format,
    convergence,
    gain_against_risk,
    kuhn_stages,
    strategy_chart,
    sweep_curves,
)
from tensorcfr.plots.style import COLOURS, DASHES, LABEL_X, spread, uncrossed
from tensorcfr.sweep import sweep

ALGORITHMS: list[Any] = [
    "cfr",
    "cfr+",
    "lcfr",
    "dcfr",
    CFR(alternating=False),
    DCFR(alpha=2, beta=0.5),
]


@pytest.fixture(scope="module")
def solutions() -> list[Solution]:
    game = compile_game("kuhn")
    return [solve(game, algorithm, iters=60) for algorithm in ALGORITHMS if algorithm != "cfr-d"]


def axes(figure: Figure) -> Axes:
    (found,) = figure.axes
    return found


def names(figure: Figure) -> list[matplotlib.text.Annotation]:
    return [t for t in axes(figure).texts if isinstance(t, matplotlib.text.Annotation)]


@pytest.mark.parametrize(
    ("x", "attribute"),
    [
        ("iterations", "iteration"),
        ("nodes", "nodes_touched"),
        ("decision_nodes", "decision_nodes_touched"),
        ("seconds", "seconds"),
    ],
)
def test_the_lines_are_the_traces(solutions: list[Solution], x: Any, attribute: str) -> None:
    figure = convergence(solutions, x=x)
    for line, solution in zip(axes(figure).get_lines(), solutions, strict=True):
        assert list(line.get_xdata()) == [getattr(p, attribute) for p in solution.trace]
        assert list(line.get_ydata()) == [p.exploitability for p in solution.trace]
    assert axes(figure).get_xscale() == axes(figure).get_yscale() == "log"


def test_learning_nodes_count_shared_traversals_once() -> None:
    """12 passes over 24 decisions, and 12 traversals of a deal of four, with and without turns.

    The unit of the AI Poker Tutorial: 24 nodes an iteration of CFR, four a deal.  A solver counts
    a traversal once for each player.
    """
    game = compile_game("kuhn")
    at_once, in_turn = CFR(alternating=False), CFR
    deals = [CHANCE_SAMPLING(alternating=False, prune=False), CHANCE_SAMPLING(prune=False)]
    for algorithm, nodes in ((at_once, 24), (in_turn, 48), (deals[0], 4), (deals[1], 8)):
        line = axes(convergence(solve(game, algorithm, iters=12), x="learning_nodes")).get_lines()
        assert line[0].get_xdata()[-1] == 12 * nodes


def test_title_and_axes_say_game_metric_and_unit(solutions: list[Solution]) -> None:
    ax = axes(convergence(solutions))
    assert ax.get_title(loc="left") == "Kuhn poker"
    assert ax.get_ylabel() == "exploitability = nash_conv / 2 players\n(units of utility)"
    assert ax.get_xlabel().startswith("iterations")
    assert ax.get_legend() is None


def test_names_tell_where_an_algorithm_departs_from_the_published_one(
    solutions: list[Solution],
) -> None:
    assert [name.get_text() for name in names(convergence(solutions))] == [
        *("cfr", "cfr+", "lcfr", "dcfr"),
        "cfr (simultaneous)",
        "dcfr (alpha=2, beta=0.5)",
    ]


def test_an_algorithm_of_one_s_own_is_named_in_full() -> None:
    own = type(CFR)("mine", CFR.rule, "formula", "here", average_power=3)
    figure = convergence(solve(compile_game("kuhn"), own, iters=3))
    assert names(figure)[0].get_text() == str(own)


def test_names_do_not_overlap_and_stay_on_the_picture(solutions: list[Solution]) -> None:
    # The same six curves twice over: every end is taken twice.
    figure = convergence([*solutions, *solutions])
    figure.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(name) for name in names(figure)]
    assert len(boxes) == 12
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    right, top = figure.bbox.x1, figure.bbox.y1
    assert all(box.x1 <= right and box.y0 >= 0 and box.y1 <= top for box in boxes)
    assert all(box.x0 > axes(figure).bbox.x1 for box in boxes)


def test_lines_differ_in_colour_and_in_grey(solutions: list[Solution]) -> None:
    lines = axes(convergence(solutions)).get_lines()
    assert len({line.get_color() for line in lines}) == len(lines)
    # A line style reads "--" whatever its dashes, so the dashes themselves.
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == len(lines)
    assert len(COLOURS) == len(DASHES) == len(set(map(str, DASHES)))


def test_several_games(solutions: list[Solution]) -> None:
    other = solve(compile_game("kuhn(players=3)"), "cfr", iters=5)
    figure = convergence([solutions[0], other])
    assert axes(figure).get_title(loc="left") == "Kuhn poker; Kuhn poker, three players"
    assert [name.get_text() for name in names(figure)] == ["kuhn, cfr", "kuhn(players=3), cfr"]
    assert axes(figure).get_ylabel().startswith("exploitability = nash_conv / players")


def test_a_single_checkpoint_shows_as_a_dot() -> None:
    (line,) = axes(convergence([solve(compile_game("kuhn"), iters=1)])).get_lines()
    assert line.get_marker() == "o"


def test_exploitability_0_is_said_where_it_cannot_be_drawn(solutions: list[Solution]) -> None:
    # Uniform play, where every algorithm starts, is the equilibrium.
    zero = solve(compile_game("matching_pennies"), "cfr", iters=3)
    assert zero.exploitability == 0
    alone = axes(convergence([zero]))
    assert "(not drawn, nothing above 0 for the log scales: cfr)" in alone.get_title(loc="left")
    assert not alone.get_lines()
    both = axes(convergence([zero, solutions[0]]))
    assert len(both.get_lines()) == 1


def test_on_axes_of_one_s_own(solutions: list[Solution]) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert convergence(solutions[:2], ax=right) is figure
    assert not left.get_lines()
    assert len(right.get_lines()) == 2


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_files(solutions: list[Solution], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"curve.{ending}"
    convergence(solutions[:1], path=path)
    assert path.stat().st_size > 1000


def test_no_pyplot(solutions: list[Solution]) -> None:
    convergence(solutions[:1])
    assert "matplotlib.pyplot" not in sys.modules


def test_what_cannot_be_drawn(solutions: list[Solution], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no solution to draw"):
        convergence([])
    with pytest.raises(ValueError, match="no x axis 'second'; did you mean 'seconds'"):
        convergence(solutions, x="second")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the solution by lp has no trace to draw"):
        convergence([solve(compile_game("kuhn"), "lp")])
    with pytest.raises(ValueError, match=r"its ending must be one of .*\.png"):
        convergence(solutions, path=tmp_path / "curve.doc")
    assert not list(tmp_path.iterdir())


def test_gain_against_risk(tmp_path: Path) -> None:
    """A line for each method, through a point for each weight, which is written at it."""
    pytest.importorskip("scipy")
    game, counts = compile_game("kuhn"), {"Jb": {"bet": 5, "pass": 5}, "Jp": {"pass": 9}}
    found = {
        method: robust_responses(game, counts, 0, method=method, weights=(0.5, 1))
        for method in ("data-biased", "restricted")
    }
    figure = gain_against_risk(found, path=tmp_path / "curve.png")
    for line, (name, one) in zip(axes(figure).get_lines(), found.items(), strict=True):
        assert line.get_label() == name
        assert list(line.get_xdata()) == one.risk.tolist()
        assert list(line.get_ydata()) == one.gain.tolist()
    assert [text.get_text() for text in names(figure)] == ["0", "0.5", "1"] * 2
    assert (tmp_path / "curve.png").stat().st_size > 1000
    (alone,) = axes(gain_against_risk(found["restricted"])).get_lines()
    assert alone.get_label() == "restricted"
    with pytest.raises(ValueError, match="there is nothing to draw"):
        gain_against_risk({})


def test_without_matplotlib(
    solutions: list[Solution], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sweep(tmp_path / "sweep.csv", "kuhn", "cfr", iters=1)
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: convergence(solutions),
        lambda: check_format("curve.png"),
        lambda: sweep_curves(rows),
        lambda: kuhn_stages(solutions[0]),
        lambda: strategy_chart(solutions[0]),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'tensorcfr\[plot\]'"):
            draw()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([0.2, 0.8], [0.2, 0.8]),
        ([0.8, 0.2], [0.8, 0.2]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.52, 0.48], [0.5, 0.6, 0.4]),
        ([0.0, 0.0, 0.9], [0.0, 0.1, 0.9]),
        ([1.0, 1.0], [0.9, 1.0]),
    ],
)
def testspread(wanted: list[float], expected: list[float]) -> None:
    places = spread(wanted, [0.1] * len(wanted))
    assert places == pytest.approx(expected)


def test_leaders_do_not_cross() -> None:
    # By height the third name would be below the second one, whose leader would pass above it.
    points = [(1.0, 0.0), (0.2, 0.0), (0.6, 0.01)]

    def at(place: float, k: int, x: float) -> float:
        return points[k][1] + (place - points[k][1]) * (x - points[k][0]) / (LABEL_X - points[k][0])

    for places, crosses in (
        (spread([y for _, y in points], [0.1] * 3), True),
        (uncrossed(points, [0.1] * 3), False),
    ):
        gap = at(places[1], 1, 0.6) - at(places[2], 2, 0.6)
        assert (gap * (places[1] - places[2]) < 0.0) == crosses
        assert sorted(places) == pytest.approx([0.0, 0.1, 0.2])
    # Whoever ends at the edge has the nearest place.
    assert uncrossed([(1.0, 0.5), (1.0, 0.9)], [0.1, 0.1]) == pytest.approx([0.5, 0.9])


def test_spread_keeps_order_and_room() -> None:
    rooms = [0.05, 0.1, 0.2, 0.05, 0.1]
    wanted = [0.5, 0.51, 0.49, 0.9, 0.52]
    places = spread(wanted, rooms)
    order = sorted(range(5), key=lambda i: wanted[i])
    assert order == sorted(range(5), key=lambda i: places[i])
    for lower, upper in pairwise(order):
        assert places[upper] - places[lower] >= (rooms[lower] + rooms[upper]) / 2 - 1e-12
