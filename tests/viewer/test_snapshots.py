"""Solutions of a running solve: those of as many iterations, for a page that asks."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tensorcfr import CompiledGame, Solution, compile_game, solve
from tensorcfr.model.locks import Locks
from tensorcfr.solvers.loop import Progress
from tensorcfr.viewer import session as sessions
from tensorcfr.viewer import snapshots
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.snapshots import Snapshots

RIVER: dict[str, Any] = {
    **{"board": "Td9d6hQdQs", "ranges": ("AA:0.5,KK,AJs", "QJs,88"), "pot": 100, "stacks": 150},
    **{"bets": "50%", "raises": "a"},
}
GAMES = {"kuhn": ("kuhn", {}, "K"), "river": ("holdem", RIVER, "KK")}


@pytest.mark.parametrize("name", GAMES)
def test_a_snapshot_is_the_solution_of_its_iterations(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(snapshots, "FIRST", 0.0)
    monkeypatch.setattr(snapshots, "PAUSE", 0.0)
    monkeypatch.setattr(snapshots, "SHARE", 1e9)
    source, options, label = GAMES[name]
    game = compile_game(source, **options)
    action = game.lockable(label)[1][-1]
    taken: list[Solution] = []
    source_of = Snapshots(Locks(game, {label: {action: 1.0}}))

    def hook(progress: Progress) -> None:
        if (found := source_of.take(progress)) is not None:
            taken.append(found)

    arguments = {"precision": "float32" if game.is_of_cards else "float64"}
    locks = {label: {action: 1.0}}
    solve(game, iters=40, locks=locks, progress=hook, **arguments)
    assert len(taken) >= 2
    for found in taken[:2]:
        twin = solve(game, iters=found.iterations, locks=locks, **arguments)
        assert found.policy.to_dict(0) == twin.policy.to_dict(0)
        assert found.value == twin.value
        assert found.exploitability == twin.exploitability
        assert found.locks == twin.locks


def watch(game: CompiledGame, monkeypatch: pytest.MonkeyPatch, *, asks: bool) -> list[int]:
    """The iterations of the solutions that a session shows in a second."""
    monkeypatch.setattr(snapshots, "FIRST", 0.1)
    monkeypatch.setattr(snapshots, "PAUSE", 0.1)
    monkeypatch.setattr(sessions, "WATCHED_SECONDS", 0.5 if asks else 0.0)
    session = Session(solve(game, iters=0))
    session.solve({}, 10_000_000)
    seen, until = [0], time.monotonic() + 0.8
    while time.monotonic() < until:
        if asks:
            session.status()
        if (done := session.solutions[0].solution.iterations) != seen[-1]:
            assert session.about()["solutions"][0]["so_far"]
            seen.append(done)
        time.sleep(0.02)
    session.finish()
    assert not session.about()["solutions"][0]["so_far"]
    assert session.solutions[0].is_new
    assert session.solutions[0].solution.state is not None
    return seen


def test_a_page_that_watches_sees_the_strategy_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    game = compile_game("kuhn")
    seen = watch(game, monkeypatch, asks=True)
    assert len(seen) >= 3
    assert seen == sorted(seen)
    assert watch(game, monkeypatch, asks=False) == [0]


def test_without_memory_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "FIRST", 0.0)
    monkeypatch.setattr(snapshots, "free_memory", lambda: 0)
    game = compile_game("kuhn")
    source_of, taken = Snapshots(Locks(game, {})), list[Solution | None]()
    solve(game, iters=5, progress=lambda progress: taken.append(source_of.take(progress)))
    assert taken
    assert not any(taken)
