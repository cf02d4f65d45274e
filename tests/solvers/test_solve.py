"""The driver: when it ends, what it records, and that it goes on to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.tiers import tiered
from support.variants import CLASSIC
from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    MemoryLimitError,
    Solution,
    Solver,
    compile_game,
    nash_conv,
    solve,
)
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.solvers import Progress, Status
from tensorcfr.solvers.request import next_chance
from tensorcfr.solvers.solution import TracePoint

KUHN = compile_game("kuhn")
LEDUC = compile_game("leduc")
ITERATIVE = tiered(
    [name for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)], CLASSIC
)


def assert_same_bits(one: Solution, other: Solution) -> None:
    assert bits(one.state) == bits(other.state)
    np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)


class TestEnds:
    def test_no_iterations_is_uniform_play(self) -> None:
        solution = solve(KUHN, iters=0)
        assert solution.iterations == 0
        assert set(solution.policy["Kpb"].values()) == {0.5}
        # uniform play of Kuhn: every CFR curve of OpenSpiel starts here
        assert solution.nash_conv == pytest.approx(0.9166666666666666, abs=1e-14)

    def test_target(self) -> None:
        solution = solve(KUHN, target=1e-3)
        assert solution.status is Status.TARGET
        assert solution.exploitability <= 1e-3
        assert solution.trace[-2].exploitability > 1e-3

    @pytest.mark.parametrize("algorithm", ["cfr", "dcfr"])
    def test_few_evaluations_on_the_way_to_a_target(self, algorithm: str) -> None:
        """Far checkpoints are passed over; an interrupted solve ends where it would have ended."""
        target = 1e-2
        found = solve(KUHN, algorithm, target=target)
        every = solve(KUHN, algorithm, iters=2 * found.iterations, checkpoints=1)
        first = min(point.iteration for point in every.trace if point.exploitability <= target)
        assert first <= found.iterations <= 1.05 * first + 1
        assert len(found.trace) < 12
        marks = {point.iteration for point in found.trace}
        for count in range(3, found.iterations // 2, 7):
            begun = solve(KUHN, algorithm, iters=count, target=target)
            assert begun.iterations == count
            ended = solve(KUHN, start=begun, target=target)
            later = {point.iteration for point in ended.trace if point.iteration > count}
            assert later == {mark for mark in marks if mark > count}

    @pytest.mark.parametrize("power", [0.5, 1, 2, 2.5, 6])
    @pytest.mark.parametrize("first", [1, 37, 1_000, 54_321])
    def test_the_end_where_exploitability_falls_with_a_power(
        self, power: float, first: int
    ) -> None:
        """It is within 3 per cent of the first iteration that will do, wherever that is."""
        target, trace, mark = first**-power, list[TracePoint](), 0
        while not trace or trace[-1].exploitability > target:
            mark = next_chance(trace, mark, target)
            found = mark**-power
            trace.append(TracePoint(mark, 0, 0.0, 2 * found, found))
        assert first <= mark <= 1.03 * first + 1
        assert len(trace) < 30

    def test_time_limit(self) -> None:
        begun = time.perf_counter()
        solution = solve(KUHN, time_limit=0.05)
        assert solution.status is Status.TIME_LIMIT
        assert solution.iterations > 1
        assert solution.seconds <= time.perf_counter() - begun

    def test_nodes(self) -> None:
        each = 2 * KUHN.n_histories
        solution = solve(KUHN, nodes=1000 * each)
        assert (solution.status, solution.iterations) == (Status.NODES, 1000)
        more = solve(KUHN, start=solution, nodes=10 * each + 1)
        assert more.iterations == 1011
        assert solve(KUHN, nodes=0).iterations == 0

    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    def test_interrupt_keeps_what_was_computed(self) -> None:
        sent: list[int] = []

        def press_ctrl_c(progress: Progress) -> None:
            if progress.iteration >= 50 and not sent:
                sent.append(progress.iteration)
                os.kill(os.getpid(), signal.SIGINT)

        before = signal.getsignal(signal.SIGINT)
        solution = solve(KUHN, time_limit=60, progress=press_ctrl_c)
        assert solution.status is Status.INTERRUPTED
        assert solution.iterations >= sent[0]
        assert signal.getsignal(signal.SIGINT) is before
        assert_same_bits(solution, solve(KUHN, iters=solution.iterations))

    def test_in_another_thread(self) -> None:
        found: list[Solution] = []
        thread = threading.Thread(target=lambda: found.append(solve(KUHN, iters=10)))
        thread.start()
        thread.join()
        assert found[0].iterations == 10

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"iters": -1}, "iters must be a whole number >= 0, not -1"),
            ({"iters": 1.5}, "iters must be a whole number >= 0, not 1.5"),
            ({"iters": True}, "iters must be a whole number"),
            ({"target": -1.0}, "target must be an exploitability >= 0, not -1.0"),
            ({"target": "-1"}, "target must be an exploitability >= 0, not -1.0"),
            ({"target": float("nan")}, "target must be"),
            ({"nodes": -1}, "nodes must be a whole number >= 0, not -1"),
            ({"nodes": 1.5}, "nodes must be a whole number >= 0, not 1.5"),
            ({"time_limit": -2}, "time_limit must be seconds >= 0, not -2"),
            ({"iters": 5, "checkpoints": "often"}, "not 'often'"),
            ({"iters": 5, "checkpoints": 0}, "checkpoints must be at least 1 apart, not 0"),
            ({"iters": 5, "checkpoints": [0, 2]}, "checkpoints must be iterations from 1, not 0"),
            ({"iters": 5, "algorithm": "cfr++"}, "no algorithm 'cfr\\+\\+'; did you mean 'cfr\\+'"),
            ({"iters": 5, "algorithm": "lp"}, "lp is exact: it takes no iters"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            solve(KUHN, **arguments)

    def test_memory_is_said_before_it_is_taken(self) -> None:
        with pytest.raises(MemoryLimitError, match=r"solving leduc needs .* KiB, .* limit is 1000"):
            solve(LEDUC, iters=1, memory_limit=1000)


class TestTrace:
    def test_geometric(self) -> None:
        marks = [point.iteration for point in solve(KUHN, iters=1000).trace]
        assert marks[0] == 1
        assert marks[-1] == 1000
        assert {10, 100} <= set(marks)
        assert len(marks) < 35

    def test_every_so_often_and_the_end(self) -> None:
        solution = solve(KUHN, iters=35, checkpoints=10)
        assert [point.iteration for point in solution.trace] == [10, 20, 30, 35]

    def test_chosen(self) -> None:
        solution = solve(KUHN, iters=40, checkpoints=[20, 7, 7, 900])
        assert [point.iteration for point in solution.trace] == [7, 20, 40]

    def test_units(self) -> None:
        solution = solve(LEDUC, "cfr", iters=10)
        last = solution.trace[-1]
        # OpenSpiel's Leduc has 9,457 histories; each of two updates sweeps them all.
        assert last.nodes_touched == solution.nodes_touched == 10 * 2 * 9457
        assert last.exploitability == last.nash_conv / 2 == solution.exploitability
        # The solver evaluates the merged game.
        assert solution.nash_conv == pytest.approx(nash_conv(LEDUC, solution.policy), rel=1e-12)
        assert solution.seconds >= last.seconds > 0

    def test_evaluating_changes_nothing(self) -> None:
        assert_same_bits(
            solve(LEDUC, iters=20, checkpoints=1), solve(LEDUC, iters=20, checkpoints=[20])
        )

    def test_progress(self) -> None:
        seen: list[Progress] = []
        solve(KUHN, iters=500, progress=seen.append)
        assert seen[-1].iteration == seen[-1].last_iteration == 500
        assert [p.iteration for p in seen] == sorted(p.iteration for p in seen)


class TestGoesOn:
    @pytest.mark.parametrize("algorithm", ITERATIVE)
    def test_same_bits(self, algorithm: str, interpreted: None) -> None:
        record = ALGORITHMS[algorithm]
        whole = solve(LEDUC, record, iters=8)
        part = solve(LEDUC, record, iters=3)
        rest = solve(LEDUC, start=part, iters=5)
        assert rest.iterations == 8
        assert_same_bits(whole, rest)
        assert rest.trace[: len(part.trace)] == part.trace
        assert [p.iteration for p in rest.trace][-1] == 8
        assert rest.seconds > part.seconds

    @pytest.mark.parametrize("algorithm", ITERATIVE)
    def test_same_bits_from_a_file(self, algorithm: str, tmp_path: Any, interpreted: None) -> None:
        record = ALGORITHMS[algorithm](alternating=False, delay=3)
        part = solve(KUHN, record, iters=33)
        loaded = Solution.load(part.save(tmp_path / "part.npz"))
        assert loaded.algorithm == record
        assert loaded.trace == part.trace
        assert loaded.status is part.status
        assert loaded.evaluation == part.evaluation
        assert_same_bits(solve(loaded.game, start=loaded, iters=37), solve(KUHN, record, iters=70))

    def test_start_is_left_alone(self) -> None:
        part = solve(KUHN, iters=10)
        before = part.policy.probabilities.copy()
        solve(KUHN, start=part, iters=10)
        np.testing.assert_array_equal(part.policy.probabilities, before)
        assert part.iterations == 10

    def test_refusals(self) -> None:
        part = solve(KUHN, "cfr", iters=10)
        with pytest.raises(ValueError, match="start is a solution of kuhn, not of leduc"):
            solve(LEDUC, start=part, iters=1)
        with pytest.raises(ValueError, match=r"start was solved by cfr.*, not by cfr\+"):
            solve(KUHN, "cfr+", start=part, iters=1)
        with pytest.raises(ValueError, match="cannot continue from a solution by lp"):
            solve(KUHN, start=solve(KUHN, "lp"), iters=1)

    def test_naming_the_same_algorithm_is_fine(self) -> None:
        part = solve(KUHN, CFR(alternating=False), iters=10)
        again = solve(KUHN, CFR(alternating=False), start=part, iters=10)
        assert again.iterations == 20
        with pytest.raises(ValueError, match=r"simultaneous.*, not by cfr.*alternating"):
            solve(KUHN, "cfr", start=part, iters=10)


class TestSolver:
    def test_two_runs_give_the_same_bits(self) -> None:
        assert_same_bits(solve(LEDUC, iters=20), solve(LEDUC, iters=20))

    def test_linear_program_does_not_iterate(self) -> None:
        with pytest.raises(ValueError, match="lp does not iterate; use solve\\(game, 'lp'\\)"):
            Solver(KUHN, "lp")


@pytest.mark.compiled
class TestKuhn:
    def test_a_long_run_ends_in_the_family_of_equilibria(self) -> None:
        """The value is -1/18 (Kuhn 1950).  Player 0 bets a J with some alpha <= 1/3, a K with
        3 alpha, never a Q; player 1's strategy is unique."""
        solution = solve(KUHN, CFR_PLUS, iters=100_000)
        assert solution.value[0] == pytest.approx(-1 / 18, abs=1e-6)
        assert solution.exploitability < 1e-5
        policy = solution.policy
        alpha = policy["J"]["bet"]
        assert 0 <= alpha <= 1 / 3 + 1e-4
        assert policy["K"]["bet"] == pytest.approx(3 * alpha, abs=1e-3)
        assert policy["Q"]["bet"] == pytest.approx(0, abs=1e-3)
        assert policy["Qpb"]["bet"] == pytest.approx(alpha + 1 / 3, abs=1e-3)
        assert policy["Jp"]["bet"] == pytest.approx(1 / 3, abs=1e-3)
        assert policy["Qb"]["bet"] == pytest.approx(1 / 3, abs=1e-3)


SILENT = "import tensorcfr; tensorcfr.solve(tensorcfr.compile_game('kuhn'), iters=10)"


def test_a_library_never_prints() -> None:
    run = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")
