"""Command ``compile``, and threads chosen by the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import USAGE, invoke, printed, python, refused
from tensorcfr import compile_game, solve
from tensorcfr.solvers import choose

RIVER = """if True:
    from tensorcfr import compile_game, solve
    from tensorcfr._util.compiles import compiles_seen
    ranges = ("AA,KQ,T9s", "QQ,AK,A5s")
    game = compile_game("holdem", board="Kd8h8c3s2d", ranges=ranges, pot=30, stacks=90, bets="75%")
    with compiles_seen() as seen:
        solve(game, iters=5).exploitability
    print(seen.begun)
"""


def test_a_feature_that_does_not_exist_is_named() -> None:
    assert "no feature 'rivers'; choose among solve, " in refused(USAGE, "compile", "rivers")


@pytest.mark.full
def test_after_compiling_a_feature_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another river than that of the command has the same kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert printed("compile", "river").startswith("river: ")
    done = python("-c", RIVER)
    assert done.stdout == "0\n", done.stderr


def test_threads_are_chosen_by_the_machine_and_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """One per core in large games in chunks, with the same bits."""
    monkeypatch.setattr(choose, "available_cores", lambda: 3)
    game = compile_game("leduc", cut=1)
    assert choose.resolve_threads("auto", game, on_cluster=False) == 1
    one = solve(game, iters=20, threads="auto")
    monkeypatch.setattr(choose, "THREADED", 10)
    assert choose.resolve_threads("auto", game, on_cluster=False) == 3
    assert choose.resolve_threads("auto", game, on_cluster=True) == 1
    assert choose.resolve_threads("auto", compile_game("leduc"), on_cluster=False) == 1
    three = solve(game, iters=20, threads="auto")
    assert three.state.regret.tobytes() == one.state.regret.tobytes()


def test_words_for_threads() -> None:
    message = "--threads must be 'auto' or a whole number from 1 to 1,024, not "
    result = invoke("solve", "kuhn", "--threads", "two")
    assert result.exit_code == USAGE
    assert message + "'two'" in result.stderr
    with pytest.raises(ValueError, match="threads must be 'auto' or a whole number"):
        solve(compile_game("kuhn"), threads="all", iters=1)
