"""Chunks in the workers of a cluster: the bits of one process, also where workers are lost."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import bits
from support.fake_cluster import FakeClient, FakeFuture, play_cluster
from support.interpreted import interpret, interpreted_kernels
from support.mapped import mapped_bytes
from support.properties import examples
from support.random_games import public_tree_games
from support.random_locks import random_locks
from tensorcfr import PublicTreeGame, Solution, Solver, compile_game, solve
from tensorcfr._util import cluster as connections
from tensorcfr._util.hardware import versions
from tensorcfr.algorithms import ALGORITHMS, CFR, CFR_PLUS, HEDGE, Algorithm
from tensorcfr.algorithms.catalogue import MMD, PCFR_PLUS
from tensorcfr.cluster import cluster_solver as cluster_solver
from tensorcfr.cluster import worker as share_worker
from tensorcfr.cluster import workers as cluster_workers
from tensorcfr.cluster.cluster_solver import ClusterSolver, traffic_of
from tensorcfr.errors import ClusterError, MemoryLimitError, MissingExtraError
from tensorcfr.games.nolimit_poker import NoLimitPoker
from tensorcfr.model.branch_shares import divide, share_of
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.payoff.multiply import scratch_size
from tensorcfr.solvers.solver_state import state_bytes
from tensorcfr.solvers.warm_start import warm_state
from tensorcfr.sweep import sweep

SPEC = "liars_dice(faces=2)"
"""Six chunks of three shapes with ``cut=2``, and a trunk where both players act."""


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake clusters, and kernels as Python."""
    play_cluster(monkeypatch)
    interpret(monkeypatch)


def cut_game(spec: str | PublicTreeGame = SPEC, cut: int = 2, **options: Any) -> ChunkedGame:
    found = compile_game(spec, cut=cut, symmetry=False, **options)
    assert isinstance(found, ChunkedGame)
    return found


def assert_alike(found: Solver, expected: Solver) -> None:
    """States and evaluations, bit for bit."""
    assert found.iteration == expected.iteration
    assert found.evaluate() == expected.evaluate()
    assert found.evaluate_current() == expected.evaluate_current()
    assert bits(found.state) == bits(expected.state)


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
                there = needed[share.form.entries(local, player)]
                np.testing.assert_array_equal(there, form.entries(c, player))
        np.testing.assert_array_equal(
            np.diff(share.form.number_offset), np.diff(form.number_offset[begin : end + 1])
        )
        ups += [*share.up[0].tolist(), *share.up[1].tolist()]
    assert sorted(ups) == list(range(form.n_entries))


def test_shares_are_balanced() -> None:
    """Within half a chunk of the mean."""
    form = cut_game("leduc", 3).chunks
    largest = int(np.diff(form.number_offset).max())
    for count in (2, 3, 5):
        bounds = divide(form, count)
        sizes = [int(form.number_offset[end] - form.number_offset[begin]) for begin, end in bounds]
        assert len(sizes) == count
        assert max(sizes) - sum(sizes) / count <= largest


@pytest.mark.parametrize(("spec", "cut"), [("leduc", 3), ("leduc(ranks=2)", 3)])
def test_shares_end_next_to_their_goals(spec: str, cut: int) -> None:
    """Chunks of all sizes: no other chunk ends nearer to where a share should end."""
    form = cut_game(spec, cut).chunks
    ends = form.number_offset - form.number_offset[0]
    for count in (2, 3, 4):
        for number, (_, end) in enumerate(divide(form, count)[:-1], 1):
            goal = int(ends[-1]) * number / count
            assert abs(int(ends[end]) - goal) == np.abs(ends - goal).min()


# ------------------------------------------------------------------------------------ the same bits


RULES: dict[str, Algorithm] = {
    "cfr+": CFR_PLUS,
    "cfr simultaneous": CFR(alternating=False),
    "memory of its own": HEDGE(eta=3),
    "predictive": PCFR_PLUS,
    "delayed": CFR(delay=2),
    "restarts": CFR_PLUS(restart_base=2),
    "growth": CFR_PLUS(average_growth=2.0**40),
    "whole": MMD,
    "floor": CFR(floor=0.1),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_every_kind(name: str, fakes: None) -> None:
    game = cut_game()
    here = Solver(game, RULES[name])
    with ClusterSolver(game, RULES[name], cluster=FakeClient(3)) as there:
        for count in (1, 4):
            here.iterate(count)
            there.iterate(count)
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
    record = ALGORITHMS[name]
    game = cut_game("leduc(ranks=2)", 3)
    here = Solver(game, record)
    with ClusterSolver(game, record, cluster=FakeClient(2)) as there:
        for solver in (here, there):
            solver.iterate(6)
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
    with interpreted_kernels() as patched:
        play_cluster(patched)
        patched.setattr(cluster_workers, "PIECE", 64)
        cut = cut_game(game, 1)
        locks = random_locks(cut, seed, 0.2)
        if precision == "int16" and not cut.chunks.n_chunks:
            with pytest.raises(ValueError, match="cfr takes int16 only for games in chunks"):
                ClusterSolver(cut, CFR, cluster=FakeClient(1), locks=locks, precision=precision)
            return
        here = Solver(cut, CFR, locks=locks, precision=precision)
        workers = FakeClient(1 + len(losses), tuple(losses), replaced=replaced)
        with ClusterSolver(
            cut, CFR, cluster=workers, locks=locks, precision=precision, threads=threads
        ) as there:
            for count in (1, 1, 3):
                here.iterate(count)
                there.iterate(count)
                assert_alike(there, here)


@pytest.mark.parametrize(
    ("options", "precision"), [({}, "int16"), ({"alternating": False}, "float32")]
)
def test_going_on(options: dict[str, Any], precision: str, fakes: None) -> None:
    """From a state to the same bits; and the state of a cluster goes on in one process."""
    game, record = cut_game(), CFR(**options)
    whole = Solver(game, record, precision=precision)
    whole.iterate(9)
    first = Solver(game, record, precision=precision)
    first.iterate(2)
    with ClusterSolver(
        game, record, cluster=FakeClient(), precision=precision, state=first.state, iteration=2
    ) as there:
        there.iterate(4)
        second = Solver(game, record, precision=precision, state=there.state, iteration=6)
        there.iterate(3)
        second.iterate(3)
        assert_alike(there, whole)
    assert_alike(second, whole)
    assert_alike(there, whole)  # Closed, it is a solver of this process.


CHOSEN_FLOPS = NoLimitPoker(
    ranks="234", suits=2, hand=1, deals=(1,), stacks=3, bets="a", flops=[("2c", 2.0), ("4c", 1.0)]
)
"""All-ins before the flop are paid by pairs of hands, in addition to cards."""


def test_pairs_of_hands_beside_cards(fakes: None) -> None:
    game = compile_game(CHOSEN_FLOPS)
    here = Solver(game, CFR)
    with ClusterSolver(game, CFR, cluster=FakeClient(2)) as there:
        for solver in (here, there):
            solver.iterate(2)
        assert_alike(there, here)


def test_warm_starts(fakes: None) -> None:
    game = cut_game()
    begun = warm_state(game, CFR_PLUS, solve(game, CFR, iters=5))
    here = Solver(game, CFR_PLUS, state=begun)
    with ClusterSolver(game, CFR_PLUS, cluster=FakeClient(3), state=begun) as there:
        for solver in (here, there):
            solver.iterate(3)
        assert_alike(there, here)


def test_snapshots_in_files(tmp_path: Path, fakes: None) -> None:
    """Two generations, of which one is whole at any time; policies that were given away stay."""
    game = cut_game()
    here = Solver(game, CFR)
    with ClusterSolver(game, CFR, cluster=FakeClient(), state_dir=tmp_path) as there:
        kept = []
        for _ in range(3):
            here.iterate(2)
            there.iterate(2)
            assert bits(there.state) == bits(here.state)
            kept.append((there.average_policy(), here.average_policy().probabilities))
        for found, expected in kept:
            np.testing.assert_array_equal(found.probabilities, expected)
        assert there._spare_snapshot is not None
        arrays = [*there._snapshot_state, *there._spare_snapshot]
        # And the floor of one of them.
        assert mapped_bytes(arrays) == 2 * state_bytes(game.chunks, CFR) + 8
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", RULES)
def test_traffic_is_what_is_told(name: str, fakes: None) -> None:
    game = cut_game()
    with ClusterSolver(game, RULES[name], cluster=FakeClient(2)) as there:
        shares = there._workers.shares  # type: ignore[union-attr]
        told = traffic_of(shares, RULES[name], "float64")
        again = sum(8 * len(share.down[0]) for share in shares) * RULES[name].alternating
        for count in (1, 1, 1) if name in ("restarts", "growth") else (1, 4):
            before = there.traffic.down, there.traffic.up
            there.iterate(count)
            assert there.traffic.down - before[0] == count * told.down + again
            assert there.traffic.up - before[1] == count * told.up


def test_traffic_of_snapshots_and_evaluations(fakes: None) -> None:
    """Bytes of all arrays, once in each direction; reaches of both players, and values."""
    game = cut_game()
    with ClusterSolver(game, CFR, cluster=FakeClient(2)) as there:
        first = int(game.chunks.number_offset[0])
        whole = sum(array[first:].nbytes for array in (there.state.regret, there.state.cumulative))
        assert there.traffic.snapshots == whole
        there.iterate()
        assert there.state.regret.any()
        assert there.traffic.snapshots == 2 * whole
        before = there.traffic.down, there.traffic.up
        there.evaluate()
        shares = there._workers.shares  # type: ignore[union-attr]
        sent = sum(own.size for share in shares for own in share.down)
        values = sum(own.size for share in shares for own in share.up) + 2 * game.chunks.n_chunks
        assert (there.traffic.down - before[0], there.traffic.up - before[1]) == (
            8 * sent,
            8 * values,
        )


def test_a_solver_that_is_closed(fakes: None) -> None:
    """It is at the last snapshot, in this process, and goes on to the same bits."""
    game = cut_game()
    here, there = Solver(game, CFR), ClusterSolver(game, CFR, cluster=FakeClient(2))
    there.iterate(3)
    assert there.state.regret.any()
    there.iterate(2)
    assert there.iteration == 5
    there.close()
    assert there.iteration == 3
    here.iterate(3)
    assert_alike(there, here)
    for solver in (here, there):
        solver.iterate(4)
    assert_alike(there, here)


def test_seconds_are_counted_once(fakes: None) -> None:
    with ClusterSolver(cut_game(), CFR, cluster=FakeClient(2)) as there:
        began = time.perf_counter()
        for _ in range(3):
            there.iterate(10)
        assert 0.0 < there.seconds <= time.perf_counter() - began


class Clocked(FakeClient):
    """Every call of a worker takes a second."""

    def perf_counter(self) -> float:
        return float(self.calls)

    def monotonic(self) -> float:
        return float(self.calls)

    def sleep(self, seconds: float) -> None:
        self.calls += 1


def test_snapshots_take_a_twentieth_of_the_time(
    monkeypatch: pytest.MonkeyPatch, fakes: None
) -> None:
    workers = Clocked(2)
    monkeypatch.setattr(cluster_solver, "time", workers)
    game = cut_game()
    each = 2 * 8 * (game.chunks.n_numbers - int(game.chunks.number_offset[0]))
    with ClusterSolver(game, CFR, cluster=workers) as there:
        began = workers.calls
        for _ in range(60):
            there.iterate()
        snapshots = there.traffic.snapshots // each - 1  # The first one sets the shares.
        # Each is a call of each worker.
        assert 0.03 < 2 * snapshots / (workers.calls - began) <= 0.05


# ------------------------------------------------------------------------------------------ losses


def test_workers_that_are_lost(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    """One after the other, with snapshots in between; nobody is waited for in vain."""
    monkeypatch.setattr(cluster_solver, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(cluster_solver, "SNAPSHOT_SHARE", 1.0)
    game = cut_game()
    here = solve(game, CFR, iters=32, checkpoints=1)
    workers = FakeClient(2, tuple(range(40, 900, 23)))
    there = solve(game, CFR, iters=32, checkpoints=1, cluster=workers)
    # More than it takes to give up, but for the snapshots.
    assert workers.lost > cluster_solver.MAX_LOSSES
    assert bits(there.state) == bits(here.state)
    assert there.evaluation == here.evaluation
    assert [(p.iteration, p.nash_conv) for p in there.trace] == [
        (p.iteration, p.nash_conv) for p in here.trace
    ]


def test_pieces_reach_the_end_of_the_longest_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_workers, "PIECE", 10)
    workers = object.__new__(cluster_workers.Workers)
    workers._bounds = [(100, 125, 3), (125, 130, 0)]
    first, second = zip(*workers._pieces(), strict=True)
    assert first == ((97, (3, 13)), (97, (13, 23)), (97, (23, 28)))
    assert second == ((125, (0, 5)), (125, (5, 5)), (125, (5, 5)))


def test_losses_within_snapshots_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fakes: None
) -> None:
    """What was fetched before the loss does not spoil the snapshot from which all goes on."""
    monkeypatch.setattr(cluster_workers, "PIECE", 64)
    game, workers = cut_game(), FakeClient(2)
    here = Solver(game, CFR)
    with ClusterSolver(game, CFR, cluster=workers, state_dir=tmp_path) as there:
        for _ in range(3):
            here.iterate(2)
            there.iterate(2)
            # Within the second of several pieces.
            workers._losses = (workers.calls + 4,)
            assert bits(there.state) == bits(here.state)
    assert workers.lost == 3


class Hiring(FakeClient):
    """A client that notes who makes what; errors arrive with the future, as those of Dask do."""

    def __init__(self, workers: int = 2, losses: tuple[int, ...] = (), **options: Any) -> None:
        super().__init__(workers, losses, **options)
        self.hired: list[str] = []
        self.late: list[str] = []
        """Workers that come when somebody asks for the third time."""
        self.asked = 0

    def nthreads(self) -> dict[str, int]:
        self.asked += 1
        if self.asked >= 3:
            self.addresses += self.late
            self.late = []
        return super().nthreads()

    def submit(self, kind: Any, order: Any, *, workers: list[str], **options: Any) -> FakeFuture:
        self.hired += workers
        try:
            return super().submit(kind, order, workers=workers, **options)
        except Exception as error:
            return FakeFuture(None, error)


def test_every_worker_has_a_share(fakes: None) -> None:
    workers = Hiring(3)
    with ClusterSolver(cut_game(), CFR, cluster=workers) as there:
        assert sorted(workers.hired) == workers.addresses
        there.iterate()


def test_shares_of_lost_workers_go_to_those_that_have_fewest(
    monkeypatch: pytest.MonkeyPatch, fakes: None
) -> None:
    """All of four shares are made by two workers that are left; then by one that comes late."""
    workers = Hiring(4, (30, 31), replaced=False)
    game, here = cut_game(), Solver(cut_game(), CFR)
    with ClusterSolver(game, CFR, cluster=workers) as there:
        there.iterate(4)
        assert workers.lost == 2
        assert sorted(workers.hired[4:]) == sorted(workers.addresses)
        here.iterate(4)
        assert_alike(there, here)


def test_a_replacement_is_waited_for(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    workers = Hiring(2, (20,), replaced=False)
    monkeypatch.setattr(cluster_workers, "REPLACEMENT_SECONDS", 60.0)
    with ClusterSolver(cut_game(), CFR, cluster=workers) as there:
        workers.asked, workers.late = 0, ["fake://late"]
        there.iterate(4)
        assert workers.hired[2:] == ["fake://late"]


def test_a_share_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    """It is no loss; the error tells the bytes for all threads and names the worker."""
    monkeypatch.setattr(share_worker, "free_memory", lambda: 100)
    told = []
    for threads in (1, 4):
        workers = Hiring(1)
        with pytest.raises(MemoryLimitError, match="a share of liars_dice") as refused:
            ClusterSolver(cut_game(), CFR, cluster=workers, threads=threads)
        assert refused.value.__notes__ == ["in the worker fake://0"]
        assert workers.status == "closed"
        told.append(refused.value.needed)
    # Reaches and values of the largest chunk, and scratch of payoffs, for three more threads.
    form = cut_game().chunks
    numbers = 2 * form.most_sequences + scratch_size(form.trunk.operator)
    assert told[1] - told[0] == 3 * 8 * numbers


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
        assert bits(ended.state) == bits(expected.state)


# ------------------------------------------------------------------------------------------ errors


def test_requests_that_make_no_sense(fakes: None) -> None:
    cluster: Any = FakeClient()
    with pytest.raises(ValueError, match=r"cluster is .* games in chunks; compile .* cut=True"):
        solve(compile_game(SPEC), CFR, iters=1, cluster=cluster)
    with pytest.raises(ValueError, match=r"cluster is for .* games in chunks$"):
        solve(cut_game(), "external_sampling", iters=1, cluster=cluster)
    with pytest.raises(MemoryLimitError, match="snapshots of liars_dice"):
        ClusterSolver(cut_game(), CFR, cluster=cluster, memory_limit=12_000)
    assert cluster.status == "closed"
    own = Algorithm("mine", rule=CFR.rule, formula="", source="", parameters=CFR.parameters)
    with pytest.raises(ValueError, match="mine is an algorithm of your own: workers"):
        solve(cut_game(), own, iters=1, cluster=cluster)


def test_snapshots_in_files_are_no_memory(tmp_path: Path, fakes: None) -> None:
    """Both of them may be larger than it."""
    game = cut_game()
    told = {}
    for state_dir in (None, tmp_path):
        with pytest.raises(MemoryLimitError) as refused:
            ClusterSolver(game, CFR, cluster=FakeClient(), memory_limit=1, state_dir=state_dir)
        told[state_dir] = refused.value.needed
    limit = told[None] - 1
    assert told[tmp_path] < limit
    ClusterSolver(game, CFR, cluster=FakeClient(), memory_limit=limit, state_dir=tmp_path).close()


def test_another_game_is_compiled_there(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    share_worker._compiled.cache_clear()
    game = cut_game()
    game.__dict__["digest"] = "of another version"
    with pytest.raises(ValueError, match=r"the worker compiled a different liars_dice\(faces=2\)"):
        solve(game, CFR, iters=1, cluster=FakeClient())


def test_another_version_is_there(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    monkeypatch.setattr(share_worker, "versions", lambda: "tensorcfr 0.0.1")
    with pytest.raises(ValueError, match=r"a worker has tensorcfr 0.0.1, not tensorcfr"):
        solve(cut_game(), CFR, iters=1, cluster=FakeClient())  # type: ignore[arg-type]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"tensorcfr\[cluster\]"):
        solve(cut_game(), CFR, iters=1, cluster="tcp://127.0.0.1:1")


# ------------------------------------------------------------------------------------ connections


class Cluster:
    """What ``connect`` asks of a caller's client."""

    __module__ = "distributed.fake"
    status, asynchronous, security = "running", False, "certificates"

    class scheduler:  # noqa: N801
        address = "tls://host:8786"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The clients that are made; their workers are ``StoredRange.there``."""
    distributed = pytest.importorskip("distributed")
    found: list[Any] = []

    class Own:
        there: Any = {"tcp://a:1": versions(), "tcp://b:1": versions()}
        scheduler, status = None, "running"

        def __init__(self, **options: Any) -> None:
            self.options = options
            found.append(self)

        def run(self, function: Any, on_error: str) -> Any:
            assert (function, on_error) == (versions, "return")
            return self.there

        def close(self, timeout: float) -> None:
            self.status = "closed"

    monkeypatch.setattr(distributed, "Client", Own)
    return found


def test_a_connection_of_ones_own(made: list[Any], tmp_path: Path) -> None:
    """Straight to the workers, with the certificates of the caller's client, for nobody else."""
    (tmp_path / "s.json").touch()
    file = str(tmp_path / "s.json")
    for cluster, options in (
        (Cluster(), {"address": "tls://host:8786", "security": "certificates"}),
        ("tcp://host:8786", {"address": "tcp://host:8786"}),
        (file, {"scheduler_file": file}),
    ):
        connected: Any = connections.connect(cluster)
        expected = {"direct_to_workers": True, "set_as_default": False, **options}
        assert connected.options == {"timeout": connections.CONNECT_SECONDS, **expected}
        assert connected is made[-1]
        assert connected.status == "running"


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ("tensorcfr 0.0.1", r"the worker tcp://b:1 has tensorcfr 0\.0\.1, and this process has"),
        (ImportError("no tensorcfr"), "the worker tcp://b:1 cannot use this library: no tensorcfr"),
    ],
)
def test_one_of_several_workers_is_another(made: list[Any], found: Any, problem: str) -> None:
    """All of them are asked, and the connection is closed."""
    kind: Any = sys.modules["distributed"].Client  # type: ignore[attr-defined]
    kind.there = {"tcp://b:1": found, "tcp://a:1": versions()}
    with pytest.raises(ValueError, match=problem):
        connections.connect("tcp://host:8786")
    assert [own.status for own in made] == ["closed"]


def test_clients_that_must_be_awaited_are_refused(made: list[Any]) -> None:
    cluster = Cluster()
    cluster.asynchronous = True
    with pytest.raises(ValueError, match="the client is asynchronous"):
        connections.connect(cluster)
    assert not made


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
        assert bits(found.state) == bits(expected.state)
    cells: Any = (["kuhn"], ["cfr", "cfr+"])
    rows, own = (
        sweep(tmp_path / name, *cells, iters=20, cluster=cluster)
        for name, cluster in (("a.csv", client), ("b.csv", None))
    )
    assert [replace(row, seconds=0.0) for row in rows] == [replace(row, seconds=0.0) for row in own]
    with pytest.raises(ValueError, match=r"give processes \(of this machine\) or cluster, not"):
        sweep(tmp_path / "c.csv", *cells, iters=20, cluster=client, processes=2)
    with pytest.raises(TypeError, match=r"cluster must be a client of Dask .*, not 7"):
        solve(game, CFR, iters=1, cluster=7)
    with monkeypatch.context() as patched:
        patched.setattr(type(client), "run", lambda *given, **options: {"tcp://a:1": "tensorcfr 9"})
        with pytest.raises(ValueError, match="the worker tcp://a:1 has tensorcfr 9, and this"):
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
