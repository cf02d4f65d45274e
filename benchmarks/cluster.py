"""A cluster of two worker processes next to two threads: bits, seconds, memory and bytes.

``python -m benchmarks.cluster`` takes ``bluff(dice=(2,2))`` and some minutes.  Both solvers take
turns; ratios of medians are to be read where a machine has other work, too.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

from distributed import Client, LocalCluster
from distributed.comm import tcp

from tensorcfr import Solver, compile_game
from tensorcfr.cluster.cluster_solver import ClusterSolver, traffic_of
from tensorcfr.errors import format_bytes
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.solvers.passes import bytes_of_passes

SPANS = 3
"""Calls of ``step`` while bytes are counted."""


def count_writes() -> None:
    """Count the bytes that this process writes to its connections from now on."""
    write = tcp.TCP.write

    async def counted(self: Any, *given: Any, **options: Any) -> Any:
        sent = await write(self, *given, **options)
        tcp.written = getattr(tcp, "written", 0) + sent  # type: ignore[attr-defined]
        return sent

    tcp.TCP.write = counted  # type: ignore[method-assign]


def written() -> int:
    """Return the bytes written so far."""
    return getattr(tcp, "written", 0)


def resident() -> int:
    """Return the bytes of memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_time(client: Client) -> float:
    """Return the seconds of processor time of this process and all workers so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", nargs="?", default="bluff(dice=(2,2))")
    parser.add_argument("--cut", default="auto", help="'auto' or a number of public steps")
    parser.add_argument("--algorithm", default="cfr+")
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--step", type=int, default=3)
    given = parser.parse_args()
    cut = True if given.cut == "auto" else int(given.cut)
    game, small = compile_game(given.spec, cut=cut), compile_game("leduc", cut=3)
    assert isinstance(game, ChunkedGame)
    assert isinstance(small, ChunkedGame)
    print(game.summary())
    print(f"{given.algorithm}, {given.precision}, {given.workers} workers")
    cluster = LocalCluster(
        n_workers=given.workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None
    )
    options = {"precision": given.precision}
    with cluster, Client(cluster) as client:
        # Kernels are loaded, and buffers of Dask taken.
        ClusterSolver(small, given.algorithm, cluster=client, **options).close()
        before = client.run(resident)
        threads = Solver(game, given.algorithm, threads=given.workers, **options)
        with ClusterSolver(game, given.algorithm, cluster=client, **options) as workers:
            crew = workers._workers
            assert crew is not None
            solvers = {"threads": threads, "cluster": workers}
            times: dict[str, list[float]] = {name: [] for name in solvers}
            used = dict.fromkeys(solvers, 0.0)
            for solver in solvers.values():
                solver.iterate(given.step)
            grown = {at: now - before[at] for at, now in client.run(resident).items()}
            for _ in range(given.rounds):
                for name, solver in solvers.items():
                    processor = processor_time(client)
                    started = time.perf_counter()
                    solver.iterate(given.step)
                    times[name].append((time.perf_counter() - started) / given.step)
                    used[name] += (processor_time(client) - processor) / given.step
            for name, found in times.items():
                print(
                    f"  {name:8} {median(found):.4f} s an iteration ({min(found):.4f}), "
                    f"processors {used[name] / given.rounds:.4f} s"
                )
            ratios = [b / a for a, b in zip(times["threads"], times["cluster"], strict=True)]
            print(
                f"  cluster / threads: median of ratios {median(ratios):.3f}, of processor time "
                f"{used['cluster'] / used['threads']:.3f}"
            )
            count_writes()
            client.run(count_writes)
            down, up = workers.traffic.down, workers.traffic.up
            wire_down, wire_up = written(), sum(client.run(written).values())
            started = time.perf_counter()
            for _ in range(SPANS):
                workers.iterate(given.step)
            done = SPANS * given.step
            seconds = time.perf_counter() - started
            down, up = workers.traffic.down - down, workers.traffic.up - up
            wire_down = written() - wire_down
            wire_up = sum(client.run(written).values()) - wire_up
            told = traffic_of(crew.shares, workers.algorithm, given.precision)
            again = sum(len(share.down[0]) for share in crew.shares)
            again *= SPANS * workers.algorithm.alternating * threads._passes.trunk.reach.itemsize
            print(
                f"  down {down / done:,.0f} bytes an iteration, told "
                f"{told.down + again / done:,.0f}, on the wire {wire_down / done:,.0f}"
            )
            print(
                f"  up {up / done:,.0f} bytes an iteration, told {told.up:,.0f}, on the wire "
                f"{wire_up / done:,.0f}; {seconds / done:.4f} s an iteration"
            )
            for address, share in zip(crew._addresses, crew.shares, strict=True):
                needed = bytes_of_passes(share.form, workers.algorithm, given.precision)
                print(
                    f"  chunks {share.begin:,} to {share.end:,}: share {format_bytes(needed)}, "
                    f"game {format_bytes(game.nbytes)}, grown by {format_bytes(grown[address])}"
                )
            started = time.perf_counter()
            workers.iterate(1)
            state = workers.state
            took = time.perf_counter() - started
            print(
                f"  a step and a snapshot of {format_bytes(crew.traffic.snapshots)}: {took:.2f} s"
            )
            threads.iterate(workers.iteration - threads.iteration)
            same = all(
                getattr(state, name).tobytes() == array.tobytes()
                for name, array in threads.state._asdict().items()
            )
            print(f"  same bits after {workers.iteration} iterations: {same}")
            print(f"  same values: {workers.evaluate() == threads.evaluate()}")


if __name__ == "__main__":
    main()
