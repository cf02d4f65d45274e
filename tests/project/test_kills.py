"""A few kills at random moments; ``scripts/kills.py`` makes a thousand."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.command_line import python


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_kills(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from scripts import kills

    status = kills.main(["commands", "--kills", "10", "--seed", "1"])
    said = capsys.readouterr().out
    assert status == 0, said
    assert "10 kills" in said


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_kills_while_iterating_and_starts_at_once() -> None:
    """Each way to keep a solver's arrays once; the script makes a thousand."""
    done = python("-m", "scripts.kills", "iterating", "--kills", "16", "--starts", "8")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "16 while iterating" in done.stdout
    assert "8 checkpoint: same bits" in done.stdout
    assert "8 kernel cache: same bits" in done.stdout


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="kills processes by signals")
def test_a_cluster_under_kills(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers, a scheduler, and a sweep; the script kills twenty and runs a thousand cells."""
    pytest.importorskip("distributed")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from scripts import kills

    status = kills.main(["cluster", "--kills", "2", "--cells", "40"])
    said = capsys.readouterr().out
    assert status == 0, said
    assert "2 workers killed" in said
    assert "40 cells" in said
