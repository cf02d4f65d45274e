"""The progress hook: what it is told, how it ends a solve; the log of a solve."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from tensorcfr import Solution, compile_game, solve
from tensorcfr.solvers import Progress, Status, loop

KUHN = compile_game("kuhn")
ALGORITHMS = ("cfr+", "external_sampling")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_true_answer_ends_the_solve_and_keeps_the_solution(algorithm: str) -> None:
    solution = solve(
        KUHN, algorithm, iters=1000, checkpoints=1, progress=lambda p: p.iteration >= 37
    )
    assert solution.status is Status.STOPPED
    assert solution.iterations == 37
    twin = solve(KUHN, algorithm, iters=37)
    np.testing.assert_array_equal(solution.policy.probabilities, twin.policy.probabilities)
    assert solution.trace[-1].iteration == 37
    # It can be gone on from, to the bits of an uninterrupted solve.
    further = solve(KUHN, start=solution, iters=63)
    whole = solve(KUHN, algorithm, iters=100)
    np.testing.assert_array_equal(further.policy.probabilities, whole.policy.probabilities)


def test_a_false_answer_does_not() -> None:
    for answer in (None, False, 0, ""):
        solution = solve(KUHN, iters=20, checkpoints=1, progress=lambda p, a=answer: a)
        assert solution.status is Status.ITERATIONS


def test_a_stopped_solution_is_saved(tmp_path: object) -> None:
    solution = solve(KUHN, iters=9, checkpoints=1, progress=lambda p: p.iteration == 3)
    path = solution.save(f"{tmp_path}/stopped.npz")
    assert Solution.load(path).status is Status.STOPPED


def test_an_exception_loses_nothing() -> None:
    class MyError(Exception):
        pass

    def hook(progress: Progress) -> None:
        if progress.iteration >= 20:
            raise MyError("enough")

    with pytest.raises(MyError, match="enough") as caught:
        solve(KUHN, iters=1000, checkpoints=1, progress=hook)
    kept = caught.value.solution  # type: ignore[attr-defined]
    assert isinstance(kept, Solution)
    assert kept.iterations == 20
    twin = solve(KUHN, iters=20)
    np.testing.assert_array_equal(kept.policy.probabilities, twin.policy.probabilities)
    assert any("solution" in note for note in caught.value.__notes__)


def test_an_exception_without_room_for_the_solution_is_raised_all_the_same() -> None:
    class NarrowError(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "solution":
                raise AttributeError(name)
            super().__setattr__(name, value)

    def hook(progress: Progress) -> None:
        raise NarrowError

    with pytest.raises(NarrowError):
        solve(KUHN, iters=3, progress=hook)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_policy_of_the_moment(algorithm: str) -> None:
    seen: list[tuple[int, np.ndarray, np.ndarray, float]] = []

    def hook(progress: Progress) -> None:
        if progress.iteration in (5, 12):
            average, last = progress.policy, progress.last_policy
            seen.append(
                (
                    progress.iteration,
                    average.probabilities,
                    last.probabilities,
                    progress.evaluate().exploitability,
                )
            )
            assert [point.iteration for point in progress.trace][-1] == progress.iteration

    end = solve(KUHN, algorithm, iters=30, checkpoints=1, progress=hook)
    assert [iteration for iteration, *_ in seen] == [5, 12]
    for iteration, average, last, exploitability in seen:
        twin = solve(KUHN, algorithm, iters=iteration)
        np.testing.assert_array_equal(average, twin.policy.probabilities)
        np.testing.assert_array_equal(last, twin.last_policy.probabilities)
        assert exploitability == pytest.approx(twin.exploitability, abs=1e-14)
    # Looking changes nothing.
    unseen = solve(KUHN, algorithm, iters=30)
    np.testing.assert_array_equal(end.policy.probabilities, unseen.policy.probabilities)


def test_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    with caplog.at_level(logging.INFO, "tensorcfr"):
        solve(KUHN, "cfr", iters=20, checkpoints=[10, 20])
    events = [message.partition(": ")[2].partition(";")[0] for message in caplog.messages]
    assert events == ["begins", "checkpoint", "checkpoint", "finished all iterations"]
    assert all(message.startswith("kuhn by cfr(") for message in caplog.messages)
    assert "exploitability" in caplog.messages[1]
    caplog.clear()
    monkeypatch.setattr(loop, "LOG_SECONDS", -1.0)
    with caplog.at_level(logging.INFO, "tensorcfr"):
        solve(KUHN, "cfr", iters=20, checkpoints=[20])
    assert any("continues" in message for message in caplog.messages)


def test_nothing_is_logged_unless_asked(caplog: pytest.LogCaptureFixture) -> None:
    solve(KUHN, "cfr", iters=20)
    assert not caplog.messages
