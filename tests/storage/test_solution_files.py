"""Solutions on disk: what a damaged header or state says is refused, with the place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.tiers import tiered
from tensorcfr import Solution, compile_game, solve
from tensorcfr.algorithms import CFR_PLUS, DCFR, EXTERNAL_SAMPLING, HEDGE, OUTCOME_SAMPLING
from tensorcfr.compilers.invariants import check
from tensorcfr.errors import InvariantError
from tensorcfr.model.chunked_form import as_trunk
from tensorcfr.solvers import solution_file
from tensorcfr.solvers.correlated_solver import CorrelatedSolver
from tensorcfr.solvers.state_file import wrong_strategy
from tensorcfr.storage.archive import DIGEST, HEADER, digest_of
from tensorcfr.storage.fields import (
    by_key,
    maybe,
    number,
    plain,
    read_fields,
    record,
    several,
    text,
    whole,
)

Spoil = Callable[[dict[str, Any], dict[str, np.ndarray]], Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("solutions")
    kuhn = compile_game("kuhn")
    solve(kuhn, CFR_PLUS, iters=20, keep_best=True, locks={"K": {"bet": 0.5}}).save(
        folder / "swept"
    )
    solve(kuhn, OUTCOME_SAMPLING(baseline=0.5), iters=20).save(folder / "sampled")
    return folder


def spoiled(source: Path, path: Path, spoil: Spoil) -> Path:
    """A solution with something else in it, and a digest that says so."""
    with np.load(source) as archive:
        arrays = {key: archive[key] for key in archive.files if key != DIGEST}
    header = json.loads(arrays.pop(HEADER).tobytes())
    spoil(header, arrays)
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays, **{DIGEST: digest_of(arrays)})
    return path


def put(*keys: Any) -> Spoil:
    """Put the last of the arguments into the header, at the place that the others name."""

    def spoil(header: Any, arrays: dict[str, np.ndarray]) -> None:
        for key in keys[:-2]:
            header = header[key]
        header[keys[-2]] = keys[-1]

    return spoil


def drop(*keys: Any) -> Spoil:
    def spoil(header: Any, arrays: dict[str, np.ndarray]) -> None:
        for key in keys[:-1]:
            header = header[key]
        del header[keys[-1]]

    return spoil


def change(key: str, at: Any, to: Any) -> Spoil:
    def spoil(header: Any, arrays: dict[str, np.ndarray]) -> None:
        arrays[key] = arrays[key].copy()
        arrays[key][at] = to

    return spoil


HEADERS: list[tuple[Spoil, str]] = [
    (put("iterations", -1), "header.iterations is -1, not a whole number from 0 to 9.0072e+15"),
    (put("iterations", 10**30), "header.iterations is a number of 100 bits, not a whole number"),
    (put("iterations", 20.0), "header.iterations is 20.0, not a whole number"),
    (put("iterations", True), "header.iterations is True, not a whole number"),
    (put("seconds", -0.5), "header.seconds is -0.5, not a finite number from 0"),
    (put("seconds", math.nan), "was not written by tensorcfr: its header is not JSON"),
    (put("seconds", "1"), "header.seconds is '1', not a finite number from 0"),
    (put("values", [0.0]), "header.values is a list of 1, not a list of 2"),
    (put("values", 1, None), "header.values[1] is None, not a finite number"),
    (put("values", 1, 1e308), "header.values[1] is 1e+308, not a finite number"),
    (put("best_responses", {}), "header.best_responses is an object of 0, not a list of 2"),
    (put("status", "DONE"), "header.status is 'DONE', not one of ITERATIONS, "),
    (put("trace", 1, "iteration", 1), "header.trace[1] does not come after the point before it"),
    (put("trace", -1, "iteration", 21), "] is of iteration 21, beyond the last"),
    (put("trace", 0, "colour", "red"), "header.trace[0] has the unknown key 'colour'"),
    (drop("trace", 0, "seconds"), "header.trace[0] lacks the key 'seconds'"),
    (put("trace", 0, "nash_conv", "low"), "header.trace[0].nash_conv is 'low', not a finite"),
    (put("best", "kind", "first"), "header.best.kind is 'first', not one of average, last"),
    (put("best", "iteration", 21), "header.best is of iteration 21, beyond the last"),
    (drop("status"), "header lacks the key 'status'"),
    (put("locks", "K", "bet", 1.5), "header.locks['K'].bet is 1.5, not"),
    (put("locks", {"X": {"bet": 1.0}}), "kuhn has no infoset 'X' to lock"),
    (put("algorithm", "cfr"), "header.algorithm is not an object"),
    (put("algorithm", "name", "cfr99"), "there is no algorithm 'cfr99'"),
    (put("algorithm", "name", 5), "header.algorithm is not an algorithm: algorithm must be a name"),
    (drop("algorithm", "rule"), "header.algorithm lacks the key 'rule'"),
    (put("algorithm", "colour", "red"), "header.algorithm has the unknown key 'colour'"),
    (put("algorithm", "alternating", 1), "cfr+: alternating must be True or False, not 1"),
    (put("algorithm", "average_power", "x"), "average_power must be a number >= 0"),
    (put("algorithm", "delay", 10**400), "header.algorithm['delay'] is a number of 1329 bits"),
    (put("algorithm", [[[[[[[[[[1]]]]]]]]]]), "goes deeper than 8 levels"),
]


@pytest.mark.parametrize(("spoil", "message"), HEADERS, ids=[row[1][:30] for row in HEADERS])
def test_a_spoiled_header_is_refused(
    spoil: Spoil, message: str, folder: Path, tmp_path: Path
) -> None:
    path = spoiled(folder / "swept.npz", tmp_path / "s.npz", spoil)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Solution.load(path)
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value).replace("locks['K']['bet']", "locks['K'].bet")


SWEPT: list[tuple[Spoil, str]] = [
    (change("solution/policy", 1, 0.75), "array 'solution/policy': the probabilities of infoset"),
    (change("solution/policy", 0, 0.5), "array 'solution/policy': the empty sequences have"),
    (change("solution/policy", 1, np.nan), "a policy contains nan, which is not a probability"),
    (change("solution/best", 3, -0.25), "a policy contains -0.25, which is not a probability"),
    (change("solution/strategy", 2, 0.9), "the solver's strategy: the probabilities of infoset"),
    (change("solution/strategy", 2, -1.0), "the solver's strategy: -1.0 is not a probability"),
    (change("solution/reach", 2, 7e103), "the solver's reach[2] is 7e+103, but the strategy"),
    (change("solution/cumulative", 2, -1.0), "the solver's cumulative[2] is -1.0"),
    (change("solution/regret", 2, np.inf), "regret holds a number that is not finite"),
    (
        lambda header, arrays: arrays.update({"solution/reach": arrays["solution/reach"][:-1]}),
        "reach is float64 (25,); for kuhn and the rule",
    ),
    (
        lambda header, arrays: arrays.update({"solution/touched": np.zeros(2)}),
        "array 'solution/touched' is unknown",
    ),
    (lambda header, arrays: arrays.pop("solution/regret"), "array 'solution/regret' is missing"),
    (lambda header, arrays: header.pop("best"), "array 'solution/best' is unknown"),
    (lambda header, arrays: arrays.pop("solution/best"), "array 'solution/best' is missing"),
]
SAMPLED: list[tuple[Spoil, str]] = [
    (change("solution/strategy", 2, 0.9), "the solver's strategy: the probabilities of infoset"),
    (change("solution/last", 2, -1.0), "the solver's last holds -1.0, but it is a count"),
    (change("solution/touched", 1, 10**9), "the decision nodes among them"),
    (change("solution/generator", slice(None), 0), "generator holds only zeros"),
    (change("solution/baseline", (0, 3), np.nan), "baseline holds a number that is not finite"),
]


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [("swept", *row) for row in SWEPT] + [("sampled", *row) for row in SAMPLED],
    ids=[row[1][:40] for row in SWEPT + SAMPLED],
)
def test_a_spoiled_array_is_refused(
    name: str, spoil: Spoil, message: str, folder: Path, tmp_path: Path
) -> None:
    path = spoiled(folder / f"{name}.npz", tmp_path / "s.npz", spoil)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Solution.load(path)
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value)


def test_without_a_new_digest_nothing_is_taken(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    with np.load(folder / "swept.npz") as archive:
        arrays = dict(archive)
    header = json.loads(arrays[HEADER].tobytes())
    header["seconds"] += 1.0
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"its digest is of other arrays or another header$"):
        Solution.load(path)


@pytest.mark.parametrize("precision", tiered(["float64", "float32"], ["float64"]))
@pytest.mark.parametrize("algorithm", [CFR_PLUS, DCFR(floor=0.1), HEDGE, EXTERNAL_SAMPLING])
@pytest.mark.parametrize("game", tiered(["leduc", "kuhn(players=3)"], ["kuhn(players=3)"]))
def test_what_solvers_end_with_passes(
    game: str, algorithm: Any, precision: str, tmp_path: Path
) -> None:
    if algorithm is EXTERNAL_SAMPLING and precision == "float32":
        pytest.skip("samples in float64")
    solution = solve(compile_game(game), algorithm, iters=300, precision=precision)
    again = Solution.load(solution.save(tmp_path / "s"))
    assert again.trace == solution.trace
    assert again.algorithm == solution.algorithm
    for one, other in zip(again.state or (), solution.state or (), strict=True):
        if one.size:
            assert one.dtype == other.dtype


def test_the_checks_of_fields() -> None:
    fields = {
        "a": whole(1, 3),
        "b": several(number(0.0), 2),
        "c": maybe(text(("x", "y"))),
        "d": by_key(record({"e": plain})),
    }
    sound = {"a": 2, "b": [0, 1.5], "c": None, "d": {"k": {"e": [{"f": True}]}}}
    assert read_fields(sound, fields) == {**sound, "b": (0.0, 1.5)}
    for key, bad, message in (
        ("a", 4, r"^header\.a is 4, not a whole number from 1 to 3$"),
        ("b", [0, -1], r"^header\.b\[1\] is -1, not a finite number from 0$"),
        ("c", "z", r"^header\.c is 'z', not one of x, y$"),
        ("d", {"k": {}}, r"^header\.d\['k'\] lacks the key 'e'$"),
        ("d", {"k": {"e": 10**20}}, r"^header\.d\['k'\]\.e is 1000+, not a finite number from"),
        ("f", 1, r"^header has the unknown key 'f'$"),
    ):
        with pytest.raises(ValueError, match=message):
            read_fields({**sound, key: bad}, fields)
    with pytest.raises(ValueError, match=r"^header is a list of 0, not an object$"):
        read_fields([], fields)


@pytest.mark.parametrize("name", ["swept", "sampled"])
def test_values_of_a_file_are_those_of_its_strategies(
    name: str, folder: Path, tmp_path: Path
) -> None:
    source = folder / f"{name}.npz"
    sound = Solution.load(source)
    with np.load(source) as archive:
        header = json.loads(archive[HEADER].tobytes())
    assert list(sound.evaluation.values) == header["values"]  # The very bits.
    for key in ("values", "best_responses"):
        forged = Solution.load(spoiled(source, tmp_path / "bad.npz", put(key, [99.0, -99.0])))
        assert forged.value == pytest.approx(sound.value, abs=1e-14)
        assert forged.exploitability == pytest.approx(sound.exploitability, abs=1e-14)
        assert forged.evaluation_is_checked
    if sound.best is not None:
        path = spoiled(source, tmp_path / "bad.npz", put("best", "values", [99.0, -99.0]))
        best = Solution.load(path).best
        assert best.exploitability == pytest.approx(sound.best.exploitability, abs=1e-14)


def test_values_that_are_not_computed_again_are_marked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solution_file, "EVALUATED_UP_TO", 10)
    source = folder / "sampled.npz"
    forged = Solution.load(spoiled(source, tmp_path / "bad.npz", put("values", [99.0, -99.0])))
    assert forged.value == (99.0, -99.0)
    assert not forged.evaluation_is_checked
    assert ", as stored in the file" in forged.summary()
    assert ", as stored in the file" not in solve(compile_game("kuhn"), iters=1).summary()


@pytest.mark.parametrize("count", [-1, (1 << 62) + 1, (1 << 63) - 1])
def test_counters_have_bounds(count: int, folder: Path, tmp_path: Path) -> None:
    spoil = change("solution/touched", 0, count)
    with pytest.raises(ValueError, match="the solver's touched holds"):
        Solution.load(spoiled(folder / "sampled.npz", tmp_path / "bad.npz", spoil))


def test_a_state_of_another_iteration_is_refused(tmp_path: Path) -> None:
    """Joint play has a row for every iteration: a file with one more ended in a broadcast error."""
    game = compile_game("kuhn")
    solution = solve(game, "efce", iters=7)
    source = solution.save(tmp_path / "sound.npz")
    message = "played has the strategies of 7 iterations, not of 8"
    with pytest.raises(ValueError, match=f"bad.npz.*the solver's {message}"):
        Solution.load(spoiled(source, tmp_path / "bad.npz", put("iterations", 8)))
    with pytest.raises(ValueError, match=f"the state's {message}"):
        CorrelatedSolver(game, "efce", state=solution.state, iteration=8)
    assert solve(game, start=Solution.load(source), iters=1).iterations == 8


def test_lifted_uniform_strategies_sum_to_1() -> None:
    """A decision with one action that is left out is merged into nothing else."""
    game = compile_game("liars_dice(dice=(2, 1), faces=2)")
    form, merged = game.form, game.merged
    (alone,) = np.flatnonzero(form.bucket_actions == 1)[-1:]
    begin, lanes = int(form.bucket_sequence[alone]), int(form.bucket_lanes[alone])
    empty = int(merged.sequence[begin])
    assert empty == merged.form.player_sequences[1]
    for lane in range(lanes):
        for other in (empty + 1, merged.form.n_sequences - 1):
            forged = merged.sequence.copy()
            forged[begin + lane] = other
            forged.flags.writeable = False
            with pytest.raises(InvariantError, match=r"^M"):
                check(replace(game, merged=replace(merged, sequence=forged)))
    uniform = np.ones(merged.form.n_sequences)
    for bucket in range(len(merged.form.bucket_actions)):
        count = int(merged.form.bucket_actions[bucket])
        first = int(merged.form.bucket_sequence[bucket])
        uniform[first : first + count * int(merged.form.bucket_lanes[bucket])] /= count
    assert wrong_strategy(as_trunk(form), uniform[merged.sequence]) is None
