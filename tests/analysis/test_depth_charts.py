"""Charts of push or fold by depth."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tensorcfr import compile_game, solve
from tensorcfr.analysis import DepthChart, SolvedSpot, depth_chart


def test_a_chart(tmp_path: Path) -> None:
    """Each depth is a solve of its own; rows of the table are hands."""
    prizes = {"payouts": (50, 30, 20), "others": (4, 4)}
    chart = depth_chart((8, 3), iters=20, **prizes)
    assert chart.depths == (3, 8)
    for depth, pushes, calls, gains in zip(
        chart.depths, chart.pushes, chart.calls, chart.gains, strict=True
    ):
        solved = SolvedSpot(solve(compile_game("push_or_fold", stacks=depth, **prizes), iters=20))
        pushed, called = solved.table(""), solved.table("allin")
        np.testing.assert_array_equal(pushes, pushed.grid(pushed.strategy[:, 1]))
        np.testing.assert_array_equal(calls, called.grid(called.strategy[:, 1]))
        assert gains == pytest.approx(solved.evaluation.gains)
    # On the bubble the caller folds most hands that three big blinds would call with.
    assert chart.calls[1].mean() < 0.2 * chart.calls[0].mean()
    with chart.save(tmp_path / "chart.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 169
    assert (rows[0]["hand"], rows[0]["push to"], rows[0]["call to"]) == ("AA", "8.0", "8.0")


def test_the_deepest_stack() -> None:
    """A hand may push at a depth and above it, but not between."""
    shares = np.zeros((3, 13, 13))
    shares[:, 0, 0] = 0.5, 0.4, 1.0
    shares[:2, 0, 1] = 1.0
    chart = DepthChart((2, 3, 4.5), shares, shares, np.zeros((3, 2)))
    deepest = chart.deepest(shares)
    assert deepest[0, :3].tolist() == [4.5, 3.0, 0.0]
    row = next(chart.rows())
    assert row["push at 3"] == 0.4
    assert row["call to"] == 4.5


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tensorcfr.plots import depth_grid

    shares = np.zeros((2, 13, 13))
    shares[:, 0, 0] = 1.0
    shares[0, 0, 1] = 1.0
    chart = DepthChart((2, 3), shares, shares, np.zeros((2, 2)))
    figure = depth_grid(chart, path=tmp_path / "chart.png")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:3] == ["AA\n3+", "AKs\n2", "AQs\n-"]
    assert (tmp_path / "chart.png").stat().st_size > 10_000


def test_refusals() -> None:
    with pytest.raises(ValueError, match="depths must be"):
        depth_chart((0.5,))
    with pytest.raises(ValueError, match="depths must contain"):
        depth_chart(())
    with pytest.raises(ValueError, match=r"payouts\[1\] = 2 is above"):
        depth_chart((3,), payouts=(1, 2))
