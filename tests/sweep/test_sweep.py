"""Sweeps: what is run, what the table holds, and that nothing which breaks loses a row."""

from __future__ import annotations

import csv
import errno
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.command_line import python
from tensorcfr import Algorithm, Solution, compile_game, solve
from tensorcfr._util.hardware import machine, versions
from tensorcfr.algorithms import (
    CFR,
    CFR_PLUS,
    DCFR,
    DCFR_POSTFLOP,
    EXTERNAL_SAMPLING,
    HEDGE,
    LP,
    Record,
)
from tensorcfr.compilers.cut import cut_compiler as cut_game
from tensorcfr.errors import SweepError
from tensorcfr.solvers.driver import solve as real_solve
from tensorcfr.sweep import (
    StopRules,
    SweepProgress,
    SweepRow,
    SweepTable,
    curves,
    reached,
    read_algorithm,
    read_sweep,
    run,
    sweep,
    sweep_table,
)
from tensorcfr.sweep.cells import cells, spec_of
from tensorcfr.sweep.sweep_table import COLUMNS, HEADING, _line

unix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sweep.csv"


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cells that are really run, in order."""
    ran: list[str] = []

    def counted(game: Any, algorithm: Any, **options: Any) -> Solution:
        ran.append(f"{game.name} {algorithm.name}")
        return real_solve(game, algorithm, **options)

    monkeypatch.setattr(run, "solve", counted)
    return ran


def keys(rows: list[SweepRow]) -> list[tuple[str, str, int | None]]:
    """Game, algorithm and seed of every cell; none of these sweeps repeats a solve."""
    assert all(row.repeat == 0 for row in rows)
    return list(dict.fromkeys(row.key[:3] for row in rows))


class TestRows:
    def test_they_are_the_traces(self, path: Path) -> None:
        rows = sweep(path, ["kuhn", "leduc(ranks=2)"], ["cfr", "dcfr(alpha=2)"], iters=30)
        for (game, algorithm), (own,) in curves(rows).items():
            expected = solve(compile_game(game), read_algorithm(algorithm), iters=30)
            assert [row.iteration for row in own] == [p.iteration for p in expected.trace]
            assert [row.nash_conv for row in own] == [p.nash_conv for p in expected.trace]
            assert [row.nodes_touched for row in own] == [p.nodes_touched for p in expected.trace]
            assert [row.decision_nodes_touched for row in own] == [
                p.decision_nodes_touched for p in expected.trace
            ]
            assert [row.status for row in own] == [""] * (len(own) - 1) + ["iterations"]
            assert all(row.exploitability == row.nash_conv / row.players for row in own)
            assert {row.parameters for row in own} == {str(expected.algorithm)}
            assert {(row.machine, row.versions) for row in own} == {(machine(), versions())}
            seconds = [row.seconds for row in own]
            assert seconds == sorted(seconds)
            assert seconds[0] > 0

    def test_the_file_is_a_plain_csv_with_every_digit(self, path: Path) -> None:
        rows = sweep(path, ["kuhn"], ["cfr+"], iters=100)
        assert read_sweep(path) == rows
        with open(path, newline="") as file:
            table = list(csv.DictReader(file))
        assert tuple(table[0]) == COLUMNS
        assert [float(line["exploitability"]) for line in table] == [
            row.exploitability for row in rows
        ]

    def test_the_linear_program_has_one(self, path: Path) -> None:
        (row,) = sweep(path, ["kuhn"], ["lp"], nodes=10)
        assert (row.iteration, row.nodes_touched, row.status) == (0, 0, "exact")
        assert row.exploitability < 1e-12
        assert row.seconds > 0

    def test_what_takes_no_chunks_gets_a_game_that_is_laid_out(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cut_game, "CUT_FROM", 1)
        rows = sweep(path, ["leduc(ranks=2)"], ["cfr", "external_sampling", "lp"], iters=1)
        assert [row.algorithm for row in rows] == ["cfr", "external_sampling", "lp"]

    def test_a_compiled_game_and_a_record(self, path: Path) -> None:
        rows = sweep(path, [compile_game("matching_pennies")], [DCFR(alpha=2)], iters=1)
        assert keys(rows) == [("matching_pennies", "dcfr(alpha=2)", None)]

    @pytest.mark.openspiel
    def test_a_game_of_openspiel(self, path: Path) -> None:
        pytest.importorskip("pyspiel")
        game = "openspiel:kuhn_poker"
        rows = sweep(path, [game, "kuhn"], ["cfr"], iters=20)
        (theirs,), (ours,) = curves(rows)[game, "cfr"], curves(rows)["kuhn", "cfr"]
        curve = [row.nash_conv for row in theirs]
        assert curve == pytest.approx([row.nash_conv for row in ours], abs=1e-12)

    def test_three_players(self, path: Path) -> None:
        rows = sweep(path, ["kuhn(players=3)"], ["cfr"], iters=5)
        assert {row.players for row in rows} == {3}
        assert rows[-1].exploitability == rows[-1].nash_conv / 3


class TestBudgets:
    def test_nodes(self, path: Path) -> None:
        each = 2 * compile_game("kuhn").n_histories
        rows = sweep(path, ["kuhn"], ["cfr"], nodes=1000 * each)
        assert (rows[-1].iteration, rows[-1].status) == (1000, "nodes")

    def test_time(self, path: Path) -> None:
        last = sweep(path, ["kuhn"], ["cfr"], time_limit=0.05)[-1]
        assert last.status == "time_limit"
        # The last evaluation is within the limit, too.
        assert 0.005 < last.seconds < 0.06

    def test_target(self, path: Path) -> None:
        rows = sweep(path, ["kuhn"], ["cfr"], iters=10**6, target=1e-2)
        assert rows[-1].status == "target"
        assert rows[-1].exploitability <= 1e-2 < rows[-2].exploitability

    @pytest.mark.parametrize(
        ("rules", "message"),
        [
            ({}, "no stop rule"),
            ({"target": 1e-3}, "the target alone may never be reached"),
            ({"iters": -1}, "iters must be a whole number >= 0, not -1"),
            ({"nodes": -5}, "nodes must be a whole number >= 0, not -5"),
            ({"nodes": 1.5}, "nodes must be a whole number >= 0, not 1.5"),
            ({"time_limit": -2.0}, "time_limit must be seconds >= 0, not -2"),
            ({"time_limit": math.nan}, "time_limit must be seconds"),
            ({"iters": 1, "processes": 0}, "processes must be a whole number from 1 to 256"),
            ({"iters": 1, "seeds": []}, "there is no seed"),
            ({"iters": 1, "seeds": [-1]}, "a seed must be a whole number >= 0, not -1"),
        ],
    )
    def test_bad_ones(self, path: Path, rules: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            sweep(path, ["kuhn"], ["cfr"], **rules)
        assert not path.exists()

    def test_share(self) -> None:
        assert StopRules(iters=10, nodes=100).share(1, 50, 3.0) == 0.5
        assert StopRules(time_limit=2.0).share(10**6, 10**9, 3.0) == 1.0
        assert str(StopRules(nodes=4 * 10**9, target=1e-6)) == "nodes=4000000000, target=1e-06"


class TestNames:
    @pytest.mark.parametrize(
        ("games", "algorithms", "message"),
        [
            (["ledoc"], ["cfr"], "there is no game 'ledoc'; did you mean 'leduc'"),
            (["leduc(rank=3)"], ["cfr"], "leduc has no parameter 'rank'"),
            (["kuhn"], ["cfr++"], "no algorithm 'cfr\\+\\+'"),
            (["kuhn"], ["cfr", "dcfr(alfa=2)"], "no option 'alfa'; did you mean 'alpha'"),
            (["kuhn"], ["dcfr(2)"], "cannot read the algorithm 'dcfr\\(2\\)'"),
            (["kuhn"], ["lp(alpha=2)"], "lp is exact: it takes no alpha"),
            ([], ["cfr"], "there is no game to run"),
            (["kuhn"], [], "there is no algorithm to run"),
        ],
    )
    def test_unknown_before_anything_runs(
        self, path: Path, solved: list[str], games: Any, algorithms: Any, message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            sweep(path, games, algorithms, iters=1)
        assert not path.exists()
        assert not solved

    def test_no_game_at_all(self, path: Path) -> None:
        with pytest.raises(TypeError, match="games must be names or compiled games, not 3"):
            sweep(path, [3], ["cfr"], iters=1)  # type: ignore[list-item]

    def test_a_text_alone_is_one_name(self, path: Path) -> None:
        assert keys(sweep(path, "kuhn", "cfr", iters=1)) == [("kuhn", "cfr", None)]

    @pytest.mark.parametrize(
        ("record", "spec"),
        [
            (CFR, "cfr"),
            (LP, "lp"),
            (DCFR(alpha=2, beta=0.1), "dcfr(alpha=2, beta=0.1)"),
            (CFR_PLUS(delay=5, alternating=False), "cfr+(delay=5, alternating=False)"),
            (DCFR_POSTFLOP, "dcfr(average_power=3, restart_base=4)"),
            (HEDGE(eta=1 / 3), f"hedge(eta={1 / 3!r})"),
            (EXTERNAL_SAMPLING(variant="cfr+"), "external_sampling(variant='cfr+')"),
            (
                EXTERNAL_SAMPLING(variant="cfr+", average_power=0),
                "external_sampling(variant='cfr+', average_power=0)",
            ),
            (EXTERNAL_SAMPLING(average_power=2), "external_sampling(average_power=2)"),
        ],
    )
    def test_specs_are_read_back(self, record: Any, spec: str) -> None:
        assert spec_of(record) == spec
        assert read_algorithm(spec) == record

    def test_a_function_has_no_spec(self) -> None:
        with pytest.raises(ValueError, match="is a function, which cannot be saved"):
            spec_of(DCFR(alpha=lambda t: t))

    def test_each_cell_once(self) -> None:
        found = cells(["kuhn", "kuhn"], ["cfr", CFR, "cfr()"], [0, 0, 1])
        assert [cell.key for cell in found] == [("kuhn", "cfr", None, 0)]


class Drawn(Record):
    """A record of an algorithm that samples."""

    name = "drawn"
    is_sampled = True

    def __str__(self) -> str:
        return self.name


class TestSeeds:
    def test_only_where_chance_is_sampled(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[int | None] = []

        def sampled(game: Any, algorithm: Any, *, seed: int | None = None, **rest: Any) -> Solution:
            seen.append(seed)
            return real_solve(game, CFR, **rest)

        monkeypatch.setattr(run, "solve", sampled)
        drawn = Drawn()
        monkeypatch.setattr("tensorcfr.sweep.cells.find_algorithm", lambda record: record)
        monkeypatch.setattr("tensorcfr.sweep.cells.ALGORITHMS", {"drawn": drawn, "cfr": CFR})
        rows = sweep(path, ["kuhn"], [CFR, drawn], seeds=range(3), iters=2)  # type: ignore[list-item]
        assert seen == [None, 0, 1, 2]
        assert keys(rows) == [("kuhn", "cfr", None), *(("kuhn", "drawn", s) for s in range(3))]
        assert len(curves(rows)["kuhn", "drawn"]) == 3
        assert read_sweep(path) == rows


class TestAgain:
    def test_finished_cells_are_not_run_again(self, path: Path, solved: list[str]) -> None:
        first = sweep(path, ["kuhn"], ["cfr", "cfr+"], iters=10)
        before = path.read_bytes()
        assert sweep(path, ["kuhn"], ["cfr", "cfr+"], iters=10) == first
        assert solved == ["kuhn cfr", "kuhn cfr+"]
        assert path.read_bytes() == before

    def test_a_sweep_may_grow(self, path: Path, solved: list[str]) -> None:
        first = sweep(path, ["kuhn"], ["cfr+"], iters=10)
        rows = sweep(path, ["matching_pennies", "kuhn"], ["cfr", "cfr+"], iters=10)
        assert len(solved) == 4
        assert [row for row in rows if row.key == ("kuhn", "cfr+", None, 0)] == first
        assert keys(read_sweep(path)) == [
            (game, algorithm, None)
            for game in ("matching_pennies", "kuhn")
            for algorithm in ("cfr", "cfr+")
        ]

    def test_a_half_finished_cell_begins_anew(self, path: Path, solved: list[str]) -> None:
        whole = sweep(path, ["kuhn"], ["cfr"], iters=100)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:8]) + lines[8][:20])  # the machine stopped here
        assert len(read_sweep(path)) == 7
        again = sweep(path, ["kuhn"], ["cfr"], iters=100)
        assert len(solved) == 2
        assert [replace(row, seconds=0) for row in again] == [
            replace(row, seconds=0) for row in whole
        ]
        assert read_sweep(path) == again

    def test_until_then_the_earlier_attempt_stands(self, path: Path) -> None:
        sweep(path, ["kuhn"], ["cfr"], iters=100)
        lines = path.read_text().splitlines(keepends=True)
        # A first attempt of seven rows, a second one of two, as a crash leaves them.
        path.write_text("".join([*lines[:8], *lines[1:3]]))
        assert [row.iteration for row in read_sweep(path)] == [1, 2]

    @pytest.mark.parametrize(
        ("games", "algorithms", "iters", "wrong"),
        [
            (["kuhn"], ["cfr"], 20, "its cells end at iters=10, not at iters=20"),
            (["kuhn"], ["cfr+"], 10, "it holds kuhn by cfr;"),
            (["matching_pennies"], ["cfr"], 10, "it holds kuhn by cfr;"),
        ],
    )
    def test_the_table_of_another_sweep(
        self, path: Path, games: Any, algorithms: Any, iters: int, wrong: str
    ) -> None:
        sweep(path, ["kuhn"], ["cfr"], iters=10)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"belongs to another sweep: {wrong}"):
            sweep(path, games, algorithms, iters=iters)
        assert path.read_bytes() == before

    def test_a_table_of_an_earlier_version(self, path: Path, solved: list[str]) -> None:
        """It lacks the decision nodes; it is read, and gone on with as a table of today."""
        rows = sweep(path, ["kuhn"], ["cfr"], iters=10)
        with open(path, newline="") as file:
            lines = list(csv.DictReader(file))
        for line in lines:
            del line["decision_nodes_touched"]
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        old = [replace(row, decision_nodes_touched=None) for row in rows]
        assert read_sweep(path) == old
        solved.clear()
        more = sweep(path, ["kuhn"], ["cfr", "cfr+"], iters=10)
        assert solved == ["kuhn cfr+"]
        assert more[: len(old)] == old
        assert all(row.decision_nodes_touched for row in more[len(old) :])
        assert read_sweep(path) == more
        assert path.read_text().startswith(",".join(COLUMNS) + "\n")

    def test_a_column_that_no_version_had(self, path: Path) -> None:
        path.write_text(",".join(name for name in COLUMNS if name != "seconds") + "\n")
        with pytest.raises(ValueError, match="its columns are not"):
            read_sweep(path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"a,b\n1,2\n", "is not a sweep's table: its columns"),
            (b"PNG\n\xff\xfe\n", "is not a sweep's table: line 2 is not text"),
            (",".join(COLUMNS).encode() + b"\nkuhn,cfr\n", "line 2"),
            (",".join(COLUMNS).encode() + b"\n" + b"x," * 15 + b"x\n", "line 2"),
        ],
    )
    def test_a_file_that_is_none(self, path: Path, content: bytes, message: str) -> None:
        path.write_bytes(content)
        for call in (
            lambda: read_sweep(path),
            lambda: sweep(path, ["kuhn"], ["cfr"], iters=1),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("iteration", "-1", "line 3, column iteration: '-1' is not a whole number"),
            ("iteration", "1_0", "line 3, column iteration: '1_0' is not a whole number"),
            ("iteration", "9", "line 4, column iteration: 3 comes after 9"),
            ("nodes_touched", "99999999", "line 4, column nodes_touched: 348 comes after 99999999"),
            ("seconds", "nan", "line 3, column seconds: 'nan' is not a number"),
            ("seconds", "-0.5", "line 3, column seconds: '-0.5' is negative"),
            ("seconds", "1e300", "line 4, column seconds: "),
            ("nash_conv", "1e999", "line 3, column nash_conv: '1e999' is not finite"),
            ("nash_conv", "0.25", "line 3, column exploitability: "),
            ("exploitability", "0.25", "line 3, column exploitability: 0.25 is not nash_conv /"),
            ("players", "0", "line 3, column players: there are no players"),
            ("players", "3", "line 3, column exploitability: "),
            ("status", "done", "line 3, column status: 'done' is not a status"),
            ("date", "2026-02-30", "line 3, column date: day is out of range"),
            ("date", "yesterday", "line 3, column date: 'yesterday' is not a date"),
            ("seed", "x", "line 3, column seed: 'x' is not a whole number"),
            ("game", '"', "line 3: "),
            ("game", "a,b", "line 3: 18 columns, not 17"),
            ("game", "x" * 200_000, "line 3: field larger than field limit"),
        ],
    )
    def test_a_damaged_table(self, path: Path, column: str, value: str, message: str) -> None:
        """It is refused with line and column, and left as it is."""
        sweep(path, ["kuhn"], ["cfr"], iters=5)
        lines = path.read_text().splitlines()
        row = next(csv.reader([lines[2]]))
        row[COLUMNS.index("parameters")] = "cfr"
        row[COLUMNS.index("machine")] = row[COLUMNS.index("versions")] = "x"
        row[COLUMNS.index(column)] = value
        lines[2] = ",".join(row)
        path.write_text("".join(f"{line}\n" for line in lines))
        before = path.read_bytes()
        for call in (
            lambda: read_sweep(path),
            lambda: sweep(path, ["kuhn"], ["cfr"], iters=5),
        ):
            with pytest.raises(ValueError) as raised:  # noqa: PT011
                call()
            assert str(raised.value).startswith(f"{path}, {message}")
        assert path.read_bytes() == before

    def test_a_cell_that_began_anew(self, path: Path) -> None:
        """After an interruption, or from the first checkpoint on, a row may go back."""
        rows = sweep(path, ["kuhn"], ["cfr"], iters=5)
        first, *_, last = lines = path.read_text().splitlines()[1:]
        again = path.read_text() + first + "\n"
        path.write_text(again)
        assert read_sweep(path) == rows[:1]
        stopped = last.replace(",iterations,", ",interrupted,")
        path.write_text("\n".join([",".join(COLUMNS), *lines[:-1], stopped, lines[1]]) + "\n")
        assert read_sweep(path) == rows[:2]

    def test_names_with_ends_of_lines(self, path: Path) -> None:
        rows = sweep(path, ["kuhn"], ["cfr"], iters=2)
        odd = [replace(row, game='a\n\u2028\x0b"b"\r,c') for row in rows]
        path.write_bytes(b"".join([HEADING, *map(_line, odd)]))
        assert read_sweep(path) == odd

    def test_no_folder(self, tmp_path: Path, solved: list[str]) -> None:
        with pytest.raises(FileNotFoundError):
            sweep(tmp_path / "none" / "sweep.csv", ["kuhn"], ["cfr"], iters=1)
        with pytest.raises(IsADirectoryError):
            sweep(tmp_path, ["kuhn"], ["cfr"], iters=1)
        assert not solved

    @unix
    def test_two_sweeps_do_not_write_one_file(self, path: Path) -> None:
        wanted = cells(["kuhn"], ["cfr"], [0])
        with (
            SweepTable(path, wanted, StopRules(iters=1)),
            pytest.raises(ValueError, match="another sweep is writing this file"),
        ):
            sweep(path, ["kuhn"], ["cfr"], iters=1)
        assert sweep(path, ["kuhn"], ["cfr"], iters=1)


class TestWhatBreaks:
    def test_a_failed_cell_does_not_stop_the_others(self, path: Path, solved: list[str]) -> None:
        games = ["kuhn", "kuhn(players=3)", "matching_pennies"]
        with pytest.raises(SweepError, match=r"kuhn\(players=3\) by lp: .* two players") as failed:
            sweep(path, games, ["lp"], iters=1)
        assert "more cells" not in str(failed.value)
        assert keys(read_sweep(path)) == [
            ("kuhn", "lp", None),
            ("matching_pennies", "lp", None),
        ]
        with pytest.raises(SweepError):
            sweep(path, games, ["lp"], iters=1)

    def test_memory(self, path: Path) -> None:
        with pytest.raises(SweepError, match=r"leduc by cfr: .*needs.*\(and 1 more cells failed\)"):
            sweep(path, ["leduc"], ["cfr", "cfr+"], iters=1, memory_limit=1000)

    @pytest.mark.parametrize("room", [0, 700, 3000])
    def test_a_full_disk(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, solved: list[str], room: int
    ) -> None:
        """The disk takes so many more bytes, the last of them in the middle of a row."""
        sweep(path, ["matching_pennies"], ["cfr"], iters=10**4)
        left = room

        class Disk:
            def __init__(self, file: Any) -> None:
                self._file = file

            def __getattr__(self, name: str) -> Any:
                return getattr(self._file, name)

            def write(self, data: memoryview) -> int:
                nonlocal left
                if not left:
                    raise OSError(errno.ENOSPC, "No space left on device")
                written = self._file.write(data[:left])
                left -= written
                return int(written)

        open_table = sweep_table.open_locked
        with monkeypatch.context() as patch:
            patch.setattr(sweep_table, "open_locked", lambda *given: Disk(open_table(*given)))
            with pytest.raises(OSError, match="No space left on device") as full:
                sweep(path, ["matching_pennies", "kuhn"], ["cfr"], iters=10**4)
        assert full.value.filename == str(path)
        kept = read_sweep(path)
        assert path.read_bytes().endswith(b"\n")
        written = [row.iteration for row in kept if row.game == "kuhn"]
        assert len(kept) == 38 + len(written)
        assert written == [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32][: len(written)]
        assert (len(written) > 0, len(written) > 8) == (room >= 700, room == 3000)
        rows = sweep(path, ["matching_pennies", "kuhn"], ["cfr"], iters=10**4)
        assert [row.iteration for row in rows[: len(kept)]] == [row.iteration for row in kept]
        assert rows[-1].iteration == 10**4

    @pytest.mark.full
    @unix
    def test_a_disk_that_is_really_full(self, path: Path) -> None:
        """A limit on the size of files stands for it: the system cuts the last write short."""
        done = script(
            f"""
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
            sweep({str(path)!r}, ["kuhn"], ["cfr"], iters=10**4)
            """
        )
        assert "File too large" in done.stderr
        kept = read_sweep(path)
        assert path.stat().st_size < 3000
        assert path.read_bytes().endswith(b"\n")
        assert [row.iteration for row in kept[:3]] == [1, 2, 3]
        assert sweep(path, ["kuhn"], ["cfr"], iters=10**4)[-1].iteration == 10**4

    @unix
    def test_a_crash(self, path: Path) -> None:
        done = script(
            f"""
            import os, signal
            def kill(news):
                if news.cell.algorithm == "cfr+" and news.latest.iteration >= 100:
                    os.kill(os.getpid(), signal.SIGKILL)
            sweep({str(path)!r}, ["kuhn"], ["cfr", "cfr+"], iters=10**4, progress=kill)
            """
        )
        assert done.returncode == -signal.SIGKILL
        kept = read_sweep(path)
        assert keys(kept) == [("kuhn", "cfr", None), ("kuhn", "cfr+", None)]
        assert kept[-1].iteration == 100
        rows = sweep(path, ["kuhn"], ["cfr", "cfr+"], iters=10**4)
        assert [row for row in rows if row.algorithm == "cfr"] == [
            row for row in kept if row.algorithm == "cfr"
        ]
        assert rows[-1].iteration == 10**4

    @unix
    def test_ctrl_c(self, path: Path, solved: list[str]) -> None:
        def press(news: SweepProgress) -> None:
            if news.cell.algorithm == "cfr+" and news.latest and news.latest.iteration == 50:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            sweep(path, ["kuhn"], ["cfr", "cfr+", "lcfr"], iters=10**4, progress=press)
        kept = read_sweep(path)
        assert keys(kept) == [("kuhn", "cfr", None), ("kuhn", "cfr+", None)]
        assert kept[-1].status == "interrupted"
        assert kept[-1].iteration >= 50
        solved.clear()
        rows = sweep(path, ["kuhn"], ["cfr", "cfr+", "lcfr"], iters=10**4)
        assert solved == ["kuhn cfr+", "kuhn lcfr"]
        assert {row.status for row in rows} == {"", "iterations"}


def script(code: str) -> subprocess.CompletedProcess[str]:
    return python("-c", "from tensorcfr.sweep import sweep\n" + textwrap.dedent(code))


class TestProcesses:
    def test_the_same_rows(self, path: Path, tmp_path: Path) -> None:
        games, algorithms = ["kuhn", "matching_pennies"], ["cfr", "cfr+(delay=3)", "lp"]
        told: list[SweepProgress] = []
        # Cells of one row come first, so that the last cell to begin has many: all of them count.
        sweep(path, games, ["lp"], iters=300)
        many = sweep(path, games, algorithms, iters=300, processes=2, progress=told.append)
        one = sweep(tmp_path / "one.csv", games, algorithms, iters=300)
        strip = {"seconds": 0.0, "date": ""}
        assert [replace(row, **strip) for row in many] == [replace(row, **strip) for row in one]
        assert told[-1].finished == told[-1].total == 6
        assert told[-1].share == 1.0

    @pytest.mark.full
    def test_a_failed_cell(self, path: Path) -> None:
        with pytest.raises(SweepError, match=r"kuhn\(players=3\) by lp: .*two players"):
            sweep(path, ["kuhn", "kuhn(players=3)"], ["lp"], iters=1, processes=2)
        assert keys(read_sweep(path)) == [("kuhn", "lp", None)]

    @unix
    def test_a_process_that_is_killed(self, path: Path) -> None:
        """As the system does where memory runs out."""

        def kill(news: SweepProgress) -> None:
            if news.latest and news.latest.iteration >= 100:
                for child in multiprocessing.active_children():
                    os.kill(child.pid or 0, signal.SIGKILL)

        with pytest.raises(SweepError, match="ended abruptly: it was killed"):
            sweep(path, ["kuhn"], ["cfr", "cfr+"], time_limit=600, processes=2, progress=kill)
        assert max(row.iteration for row in read_sweep(path)) >= 100

    @pytest.mark.full
    def test_what_happens_here_ends_them(self, path: Path) -> None:
        def stop(news: SweepProgress) -> None:
            if news.latest and news.latest.iteration >= 100:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep(path, ["kuhn"], ["cfr", "cfr+"], time_limit=600, processes=2, progress=stop)
        assert max(row.iteration for row in read_sweep(path)) >= 100

    def test_an_algorithm_of_one_s_own(self, path: Path) -> None:
        own = Algorithm("mine", CFR.rule, "formula", "here", average_power=3)
        with pytest.raises(ValueError, match="run the sweep here, with processes=1"):
            sweep(path, ["kuhn"], [own, "cfr"], iters=1, processes=2)
        assert not path.exists()
        rows = sweep(path, ["kuhn"], [own], iters=1)
        assert rows[0].algorithm.startswith("mine(")


class TestProgress:
    def test_shares_rise_to_one(self, path: Path) -> None:
        told: list[SweepProgress] = []
        sweep(path, ["kuhn"], ["cfr", "cfr+"], iters=1000, progress=told.append)
        shares = [news.share for news in told]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        told.clear()
        sweep(path, ["kuhn"], ["cfr", "cfr+", "lcfr"], iters=1000, progress=told.append)
        assert told[0].finished == 2
        assert told[0].share > 2 / 3


ROW = SweepRow(
    game="kuhn",
    algorithm="cfr",
    parameters="",
    seed=None,
    iteration=1,
    nodes_touched=10,
    decision_nodes_touched=4,
    seconds=0.5,
    nash_conv=0.2,
    exploitability=0.1,
    players=2,
    status="",
    budget="",
    versions="",
    machine="",
    date="",
)


def drawn(seed: int, exploitabilities: list[float], *, each: int = 100) -> list[SweepRow]:
    return [
        replace(
            ROW,
            seed=seed,
            iteration=t,
            nodes_touched=each * t,
            decision_nodes_touched=each * t // 4,
            seconds=t / 10,
            exploitability=exploitability,
        )
        for t, exploitability in enumerate(exploitabilities, start=1)
    ]


class TestRepeats:
    def test_every_cell_runs_some_times(self, path: Path) -> None:
        """The same iterations in every run, other seconds; summaries take the median of them."""
        games, algorithms = ["kuhn"], ["cfr", "external_sampling"]
        rows = sweep(path, games, algorithms, seeds=[3, 4], repeats=3, iters=20)
        found = list(dict.fromkeys(row.key for row in rows))
        assert found == [
            *(("kuhn", "cfr", None, repeat) for repeat in range(3)),
            *(("kuhn", "external_sampling", s, repeat) for s in (3, 4) for repeat in range(3)),
        ]
        for seed, name in ((None, "cfr"), (3, "external_sampling")):
            runs = [
                [(row.iteration, row.nash_conv) for row in rows if row.key == (*key, repeat)]
                for key in [("kuhn", name, seed)]
                for repeat in range(3)
            ]
            assert runs[0] == runs[1] == runs[2]
        (cfr, _) = reached(rows, [1.0])
        firsts = [row.seconds for row in rows if row.algorithm == "cfr" and row.iteration == 1]
        assert (cfr.seeds, cfr.seconds) == (3, sorted(firsts)[1])
        assert read_sweep(path) == rows
        # More runs later, and no run twice.
        more = sweep(path, games, algorithms, seeds=[3, 4], repeats=4, iters=20)
        assert [row for row in more if row.repeat < 3] == rows
        with pytest.raises(ValueError, match="another sweep: it holds kuhn by cfr, repeat 1"):
            sweep(path, games, algorithms, seeds=[3, 4], iters=20)

    def test_a_table_without_the_column(self, path: Path) -> None:
        """Tables of version 0.7 have none: their rows are first runs."""
        rows = sweep(path, ["kuhn"], ["cfr"], iters=5)
        lines = path.read_text().splitlines()
        assert lines[0].endswith(",repeat")
        path.write_text("".join(line.rpartition(",")[0] + "\n" for line in lines))
        assert read_sweep(path) == rows
        assert sweep(path, ["kuhn"], ["cfr"], iters=5) == rows

    @pytest.mark.parametrize("other", ["QJs", "AA-TT,AKs,AQs,AKo,AQo,AJs,ATs,KQs,QJs"])
    def test_spots_that_are_called_alike(self, path: Path, other: str) -> None:
        options = {"board": "QsJh2h8d3c", "pot": 100, "stacks": 200, "bets": "50%"}
        spots = [
            compile_game("holdem", ranges=(f"{own},KK", other), **options) for own in ("AA", "QQ")
        ]
        assert len({spot.name for spot in spots}) == 1
        rows = sweep(path, spots, ["dcfr"], iters=1)
        assert len({row.exploitability for row in rows}) == 2
        texts = [row.game for row in rows]
        assert texts == [spot.recipe.source for spot in spots if spot.recipe is not None]
        assert sweep(path, texts, ["dcfr"], iters=1) == rows

    def test_games_that_are_called_alike(self, path: Path) -> None:
        kuhn = compile_game("kuhn")
        games = [kuhn, replace(compile_game("leduc"), name=kuhn.name)]
        with pytest.raises(ValueError, match="two games are called kuhn"):
            sweep(path, games, ["cfr"], iters=1)


class TestSummary:
    def test_the_median_of_the_seeds(self) -> None:
        rows = drawn(0, [0.5, 0.05, 0.5]) + drawn(1, [0.5, 0.5, 0.05]) + drawn(2, [0.01])
        tenth, hundredth = reached(rows, [0.1, 0.01])
        assert (tenth.seeds, tenth.iteration) == (3, 2)
        assert (tenth.nodes_touched, tenth.decision_nodes_touched, tenth.seconds) == (200, 50, 0.2)
        assert (hundredth.iteration, hundredth.nodes_touched, hundredth.seconds) == (None,) * 3
        assert hundredth.decision_nodes_touched is None

    def test_rows_that_do_not_say_their_decision_nodes(self) -> None:
        old = [replace(row, decision_nodes_touched=None) for row in drawn(0, [0.5, 0.05])]
        mark = reached(old, [0.1])[0]
        assert (mark.nodes_touched, mark.decision_nodes_touched) == (200, None)

    def test_half_of_the_seeds_are_not_enough(self) -> None:
        rows = drawn(0, [0.5, 0.05]) + drawn(1, [0.5, 0.5])
        assert reached(rows, [0.1])[0].iteration is None

    @pytest.mark.parametrize("level", [0.0, -1.0, math.nan, math.inf])
    def test_bad_levels(self, level: float) -> None:
        with pytest.raises(ValueError, match="levels must be an exploitability above 0"):
            reached([ROW], [level])
