"""Chunks in the workers of a cluster: the bits of one process, also where workers are lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.card_games import LeducOfCards
from support.fake_cluster import FakeClient, play_cluster
from support.interpreted import interpret
from support.properties import examples
from support.random_games import public_tree_games
from support.random_locks import random_locks
from tensorcfr import PublicTreeGame, Solution, compile_game, solve
from tensorcfr._util import cluster as connections
from tensorcfr.algorithms import ALGORITHMS, CFR, CFR_AVG, CFR_PLUS, HEDGE, Algorithm
from tensorcfr.algorithms.catalogue import PCFR_PLUS_GRADIENT, SPCFR_PLUS
from tensorcfr.errors import ClusterError, MemoryLimitError, MissingExtraError
from tensorcfr.model.cut_game import CutGame
from tensorcfr.model.shares import divide, share_of
from tensorcfr.solvers import cluster_solver, share_worker
from tensorcfr.solvers.chunked_solver import ChunkedSolver, ChunkedState, bytes_kept
from tensorcfr.solvers.cluster_solver import ClusterSolver, traffic_of
from tensorcfr.solvers.warm_start import warm_state
from tensorcfr.sweep import sweep

SPEC = "kuhn(cards=4)"
"""Four chunks with ``cut=2``, and a trunk where both players act."""


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake clusters, and kernels as Python."""
    play_cluster(monkeypatch)
    interpret(monkeypatch)


def cut_game(spec: str | PublicTreeGame = SPEC, cut: int = 2, **options: Any) -> CutGame:
    found = compile_game(spec, cut=cut, symmetry=False, **options)
    assert isinstance(found, CutGame)
    return found


def assert_same(found: ChunkedState, expected: ChunkedState) -> None:
    """Every array, bit for bit."""
    for name, array in expected._asdict().items():
        assert getattr(found, name).tobytes() == array.tobytes(), name


def assert_alike(found: ChunkedSolver, expected: ChunkedSolver) -> None:
    """States and evaluations, bit for bit."""
    assert found.iteration == expected.iteration
    assert found.evaluate() == expected.evaluate()
    assert found.evaluate_current() == expected.evaluate_current()
    assert_same(found.state, expected.state)


# ----------------------------------------------------------------------------------------- shares


@examples(50)
@given(game=public_tree_games(n_players=2), cut=st.sampled_from((1, 2)), count=st.integers(1, 5))
def test_shares_are_the_game(game: PublicTreeGame, cut: int, count: int) -> None:
    """Every chunk is in one share, with its entries behind the same sequences of the trunk."""
    form = cut_game(game, cut).chunks
    bounds = divide(form, count)
    assert [c for begin, end in bounds for c in range(begin, end)] == list(range(form.n_chunks))
    assert len(bounds) <= count
    ups: list[int] = []
    for begin, end in bounds:
        share = share_of(form, begin, end)
        ends = form.trunk.player_sequences
        for player, own in enumerate(share.down):
            assert ((own >= ends[player]) & (own < ends[player + 1])).all()
        needed = np.concatenate(share.down)
        for local, c in enumerate(range(begin, end)):
            assert share.form.shape[local] == form.shape[c]
            for player in range(2):
                own = slice(*form.entry_offset[c, player : player + 2])
                there = slice(*share.form.entry_offset[local, player : player + 2])
                np.testing.assert_array_equal(needed[share.form.entry[there]], form.entry[own])
        np.testing.assert_array_equal(
            np.diff(share.form.first), np.diff(form.first[begin : end + 1])
        )
        ups += [*share.up[0].tolist(), *share.up[1].tolist()]
    assert sorted(ups) == list(range(len(form.entry)))


def test_shares_are_balanced() -> None:
    """Within half a chunk of the mean."""
    form = cut_game("leduc", 3).chunks
    largest = int(np.diff(form.first).max())
    for count in (2, 3, 5):
        bounds = divide(form, count)
        sizes = [int(form.first[end] - form.first[begin]) for begin, end in bounds]
        assert len(sizes) == count
        assert max(sizes) - sum(sizes) / count <= largest


# ------------------------------------------------------------------------------------ the same bits


RULES: dict[str, Algorithm] = {
    "cfr+": CFR_PLUS,
    "cfr simultaneous": CFR(alternating=False),
    "memory of its own": HEDGE(eta=3),
    "forecasts": PCFR_PLUS_GRADIENT,
    "averages": CFR_AVG(delay=2),
    "averages simultaneous": CFR_AVG(alternating=False),
    "restarts": CFR_PLUS(restart_base=2),
    "whole": SPCFR_PLUS,
    "floor": CFR(floor=0.1),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_every_kind(name: str, fakes: None) -> None:
    """Rules that keep their strategy, look ahead, face averages or begin the average anew."""
    game = cut_game()
    here = ChunkedSolver(game, RULES[name])
    with ClusterSolver(game, RULES[name], cluster=FakeClient(3)) as there:
        for count in (1, 4):
            here.step(count)
            there.step(count)
            assert_alike(there, here)


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    # Games in chunks refuse rules that change payoffs.
    sorted(
        name
        for name, one in ALGORITHMS.items()
        if isinstance(one, Algorithm) and one.rule.payoff is None
    ),
)
def test_all_published_rules(name: str, fakes: None) -> None:
    record = ALGORITHMS[name].for_iterations(6)
    game = cut_game("leduc(ranks=2)", 3)
    here = ChunkedSolver(game, record)
    with ClusterSolver(game, record, cluster=FakeClient(2)) as there:
        for solver in (here, there):
            solver.step(6)
        assert_alike(there, here)


@examples(60)
@given(
    game=public_tree_games(n_players=2),
    seed=st.integers(0, 99),
    precision=st.sampled_from(("float64", "float32", "int16")),
    threads=st.sampled_from((1, 2)),
    losses=st.sets(st.integers(1, 60), max_size=3),
    replaced=st.booleans(),
)
def test_random_games(
    game: PublicTreeGame, seed: int, precision: str, threads: int, losses: set[int], replaced: bool
) -> None:
    """Games of one's own, locks, precisions, threads, and losses of workers at any call."""
    with pytest.MonkeyPatch.context() as patched:
        interpret(patched)
        play_cluster(patched)
        patched.setattr(cluster_solver, "PIECE", 64)
        cut = cut_game(game, 1)
        locks = random_locks(cut, seed, 0.2)
        here = ChunkedSolver(cut, CFR, locks=locks, precision=precision)
        workers = FakeClient(1 + len(losses), tuple(losses), replaced=replaced)
        with ClusterSolver(
            cut, CFR, cluster=workers, locks=locks, precision=precision, threads=threads
        ) as there:
            for count in (1, 1, 3):
                here.step(count)
                there.step(count)
                assert_alike(there, here)


@pytest.mark.parametrize(
    ("options", "precision"), [({}, "int16"), ({"alternating": False}, "float32")]
)
def test_going_on(options: dict[str, Any], precision: str, fakes: None) -> None:
    """From a state to the same bits; and the state of a cluster goes on in one process."""
    game, record = cut_game(), CFR(**options)
    whole = ChunkedSolver(game, record, precision=precision)
    whole.step(9)
    first = ChunkedSolver(game, record, precision=precision)
    first.step(2)
    with ClusterSolver(
        game, record, cluster=FakeClient(), precision=precision, state=first.state, iteration=2
    ) as there:
        there.step(4)
        second = ChunkedSolver(game, record, precision=precision, state=there.state, iteration=6)
        there.step(3)
        second.step(3)
        assert_alike(there, whole)
    assert_alike(second, whole)
    assert_alike(there, whole)  # Closed, it is a solver of this process.


def test_games_of_cards(fakes: None) -> None:
    """Every chunk of a game of cards is a shape of its own."""
    game = compile_game(LeducOfCards())
    assert isinstance(game, CutGame)
    here = ChunkedSolver(game, CFR)
    with ClusterSolver(game, CFR, cluster=FakeClient(2)) as there:
        for _ in range(2):
            here.step()
            there.step()
            assert_alike(there, here)


def test_warm_starts(fakes: None) -> None:
    game = cut_game()
    begun = warm_state(game, CFR_PLUS, solve(game, CFR, iters=5))
    here = ChunkedSolver(game, CFR_PLUS, state=begun)
    with ClusterSolver(game, CFR_PLUS, cluster=FakeClient(3), state=begun) as there:
        for solver in (here, there):
            solver.step(3)
        assert_alike(there, here)


def test_snapshots_in_files(tmp_path: Path, fakes: None) -> None:
    """Two generations, of which one is whole at any time; policies that were given away stay."""
    game = cut_game()
    here = ChunkedSolver(game, CFR)
    with ClusterSolver(game, CFR, cluster=FakeClient(), state_dir=tmp_path) as there:
        kept = []
        for _ in range(3):
            here.step(2)
            there.step(2)
            assert_same(there.state, here.state)
            kept.append((there.average_policy(), here.average_policy().probabilities))
        for found, expected in kept:
            np.testing.assert_array_equal(found.probabilities, expected)
    sizes = [path.stat().st_size for path in tmp_path.rglob("*.bin")]
    assert sum(sizes) == 2 * bytes_kept(game.chunks, CFR) + 8  # And the floor of one of them.


@pytest.mark.parametrize("name", RULES)
def test_traffic_is_what_is_told(name: str, fakes: None) -> None:
    """Bytes of an iteration, and those of a first iteration."""
    game = cut_game()
    with ClusterSolver(game, RULES[name], cluster=FakeClient(2)) as there:
        shares = there._crew.shares  # type: ignore[union-attr]
        told = traffic_of(shares, RULES[name], "float64")
        again = sum(8 * len(share.down[0]) for share in shares) * RULES[name].alternating
        if RULES[name].against == "average":
            again = 2 * again + 8 * len(shares) * RULES[name].alternating
        for count in (1, 1, 1) if RULES[name].restart_base else (1, 4):
            before = there.traffic.down, there.traffic.up
            there.step(count)
            assert there.traffic.down - before[0] == count * told.down + again
            assert there.traffic.up - before[1] == count * told.up


# ------------------------------------------------------------------------------------------ losses


def test_workers_that_are_lost(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    """One after the other, with snapshots in between; nobody is waited for in vain."""
    monkeypatch.setattr(cluster_solver, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(cluster_solver, "SNAPSHOT_SHARE", 1.0)
    game = cut_game()
    here = solve(game, CFR, iters=20, checkpoints=1)
    workers = FakeClient(2, tuple(range(40, 400, 23)))
    there = solve(game, CFR, iters=20, checkpoints=1, cluster=workers)
    assert workers.lost >= 3
    assert_same(there.state, here.state)
    assert there.evaluation == here.evaluation
    assert [(p.iteration, p.nash_conv) for p in there.trace] == [
        (p.iteration, p.nash_conv) for p in here.trace
    ]


def test_too_many_losses(fakes: None) -> None:
    workers = FakeClient(2, tuple(range(9, 999, 3)))
    with pytest.raises(ClusterError, match="workers were lost 11 times since iteration 0"):
        solve(cut_game(), CFR, iters=50, cluster=workers)


@pytest.mark.parametrize("replaced", [True, False])
def test_the_scheduler_is_lost(tmp_path: Path, replaced: bool, fakes: None) -> None:
    """The error has a solution, the checkpoint file too; both go on to the same bits."""
    game, at = cut_game(), tmp_path / "at.npz"
    workers = FakeClient(2, ends=120) if replaced else FakeClient(1, (120,), replaced=False)
    said = "the connection is closed" if replaced else "no workers"
    with pytest.raises(ClusterError, match=said) as caught:
        solve(
            game, CFR, iters=60, checkpoints=7, cluster=workers, checkpoint=at,
            checkpoint_iterations=4,
        )  # fmt: skip
    begun = caught.value.solution  # type: ignore[attr-defined]
    assert 0 < begun.iterations < 60
    expected = solve(game, CFR, iters=60)
    for start in (begun, Solution.load(at)):
        assert start.iterations == begun.iterations
        assert start.trace[-1].iteration == begun.iterations
        ended = solve(game, start=start, iters=60 - start.iterations)
        assert_same(ended.state, expected.state)


# ------------------------------------------------------------------------------------------ errors


def test_requests_that_make_no_sense(fakes: None) -> None:
    cluster: Any = FakeClient()
    with pytest.raises(ValueError, match=r"cluster is for .* games in chunks: compile_game"):
        solve(compile_game(SPEC), CFR, iters=1, cluster=cluster)
    with pytest.raises(ValueError, match=r"cluster is for .* games in chunks: compile_game"):
        solve(cut_game(), "external_sampling", iters=1, cluster=cluster)
    with pytest.raises(MemoryLimitError, match="snapshots of kuhn"):
        ClusterSolver(cut_game(), CFR, cluster=cluster, memory_limit=5_000)
    own = Algorithm("mine", rule=CFR.rule, formula="", source="", parameters=CFR.parameters)
    with pytest.raises(ValueError, match="mine is an algorithm of your own, which workers"):
        solve(cut_game(), own, iters=1, cluster=cluster)


def test_another_game_is_compiled_there(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    share_worker._compiled.cache_clear()
    game = cut_game()
    game.__dict__["digest"] = "of another version"
    with pytest.raises(ValueError, match=r"another kuhn\(cards=4\) is compiled there"):
        solve(game, CFR, iters=1, cluster=FakeClient())


def test_another_version_is_there(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    monkeypatch.setattr(share_worker, "versions", lambda: "tensorcfr 0.0.1")
    with pytest.raises(ValueError, match=r"a worker has tensorcfr 0.0.1, not tensorcfr"):
        solve(cut_game(), CFR, iters=1, cluster=FakeClient())  # type: ignore[arg-type]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"tensorcfr\[cluster\]"):
        solve(cut_game(), CFR, iters=1, cluster="tcp://127.0.0.1:1")


# ------------------------------------------------------------------------------------ Dask itself


@pytest.fixture
def client() -> Iterator[Any]:
    """Two workers that are threads of this process."""
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def test_workers_of_dask(client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A solve and a sweep, by client and by address; and which clusters are refused."""
    interpret(monkeypatch)
    game = cut_game()
    expected = solve(game, CFR, iters=7)
    for cluster in (client, client.scheduler.address):
        found = solve(game, CFR, iters=7, cluster=cluster, threads=2)
        assert found.evaluation == expected.evaluation
        assert_same(found.state, expected.state)
    cells: Any = (["kuhn"], ["cfr", "cfr+"])
    rows, own = (
        sweep(tmp_path / name, *cells, iters=20, cluster=cluster)
        for name, cluster in (("a.csv", client), ("b.csv", None))
    )
    assert [replace(row, seconds=0.0) for row in rows] == [replace(row, seconds=0.0) for row in own]
    with pytest.raises(ValueError, match="processes are of this machine"):
        sweep(tmp_path / "c.csv", *cells, iters=20, cluster=client, processes=2)
    with pytest.raises(TypeError, match=r"cluster must be a client of Dask .*, not 7"):
        solve(game, CFR, iters=1, cluster=7)
    with monkeypatch.context() as patched:
        patched.setattr(type(client), "run", lambda *given, **options: {"tcp://a:1": "tensorcfr 9"})
        with pytest.raises(ValueError, match="the worker tcp://a:1 has tensorcfr 9; here is"):
            solve(game, CFR, iters=1, cluster=client)
        patched.setattr(type(client), "run", lambda *given, **options: {})
        with pytest.raises(ClusterError, match=r"the scheduler at inproc\S+ has no workers"):
            solve(game, CFR, iters=1, cluster=client)
    client.close()
    with pytest.raises(ValueError, match="the client is closed, not running"):
        solve(game, CFR, iters=1, cluster=client)


def test_no_address(tmp_path: Path) -> None:
    for wrong in ("", "here", "tcp://a b", "x" * 10**5 + ":1"):
        with pytest.raises(ValueError, match=r"cluster must be a client of Dask .* a scheduler"):
            solve(cut_game(), CFR, iters=1, cluster=wrong)
    pytest.importorskip("distributed")
    with pytest.raises(FileNotFoundError, match="there is no such scheduler file"):
        solve(cut_game(), CFR, iters=1, cluster=str(tmp_path / "scheduler.json"))


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.2)
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127.0.0.1:1"):
        sweep(tmp_path / "s.csv", ["kuhn"], ["cfr"], iters=1, cluster="tcp://127.0.0.1:1")
