"""The arguments of a solve as one record, which Python and the command line create."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.argument_checks import brief, checked
from ..algorithms import AUTOMATIC, Record, find_algorithm
from ..algorithms.records import is_whole
from ..kernels.random import Seed
from ..model.compiled_game import CompiledGame
from ..model.flat_game import equal_merging
from ..model.layout import Layout
from ..model.locks import LocksLike, locks_for
from .choose import choose, refuse_uncompiled, resolve_algorithm
from .problem import Problem
from .solution import Solution, TracePoint
from .solver_arguments import (
    AUTO,
    Iterations,
    Nodes,
    Seconds,
    Target,
    chunks_error,
    to_game_unit,
)
from .warm_start import WarmStart

if TYPE_CHECKING:
    from distributed import Client


MEANS_ITERATIONS = ("iters", "time_limit", "nodes", "warm_start", "precision", "cluster")
"""Arguments that exclude the linear program."""
PER_DECADE = 10
"""Geometric checkpoints per factor of ten in iterations."""
STEEPNESS = 2.5
"""Power of the iterations with which exploitability is assumed to fall, unless it fell faster so
far.  On the way to a target, the next checkpoint is where the target would be reached at this rate.
It was chosen on half of the spots in ``scripts/spots.py``, and tested on the other half."""
NEAREST, FARTHEST = 1.03, 4.0
"""Smallest and largest ratio between the iterations of two of these checkpoints."""
USUAL_ITERATIONS = 1000
"""Iterations of a solve without a stop rule, if the game has no usual target."""
PASSES = "the variants that pass over the whole game do"
IN_CHUNKS = "is for variants that pass over the whole game, on games in chunks"
REFUSALS = {
    ("named algorithm", "seed"): (
        "auto chooses among algorithms that draw no random numbers: it takes no seed"
    ),
    ("samples", "seed"): "{algorithm} draws no random numbers: it takes no seed",
    ("whole passes", "locks"): "{algorithm} takes no locks: " + PASSES,
    ("whole passes", "imperfect recall"): (
        "{game} has imperfect recall, which {algorithm} does not apply to: " + PASSES
    ),
    ("perfect recall", "warm_start"): "{game} has imperfect recall: it takes no warm start",
    ("new solve", "warm_start"): (
        "pass start (to continue) or warm_start (to begin with its regrets), not both"
    ),
    ("whole passes", "warm_start"): "{algorithm} takes no warm start: " + PASSES,
    ("iterates", "keep_best"): "{algorithm} is exact: there are no iterates to keep the best of",
    ("precisions", "precision or threads"): "{algorithm} works in float64, on one thread",
    ("separate play", "keep_best"): (
        "{algorithm} finds joint play over all iterations, so keep_best has no single iterate to "
        "keep"
    ),
    ("no samples", "precision or threads"): "{algorithm} samples in float64, on one thread",
    ("chunks", "state_dir"): f"state_dir {IN_CHUNKS}",
    ("chunks", "cluster"): f"cluster {IN_CHUNKS}",
    ("file", "checkpoint_iterations"): "checkpoint_iterations needs checkpoint, the file to write",
    ("exactness", "proof"): (
        "target=0 asks for an exact equilibrium, and {game} is too large for one, is not flat, "
        "or does not have two players and a constant sum: name an algorithm to iterate, and give "
        "it iters or time_limit"
    ),
    ("iterates", "stop rule"): (
        "{algorithm} is exact: it takes no iters, target, time_limit or nodes"
    ),
}
"""Reason of each refusal, by the capability that is missing and the option that needs it; in the
order in which they are checked.  See :attr:`SolveRequest.capabilities` and
:attr:`SolveRequest.options`."""
UNCOMPILED_REFUSALS = {
    ("evaluation", option): f"{option} needs exploitabilities, and {{game}} is not compiled: "
    "compile_game makes a game that can be evaluated"
    for option in ("target", "keep_best", "a curve")
}
"""Reasons of the refusals of a solve on rules, which are checked before those of a start."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SolveRequest:
    """Arguments of :func:`tensorcfr.solve`, with the checks and choices that depend on several of
    them."""

    game: CompiledGame
    algorithm: str | Record | None = None
    iters: int | None = None
    target: float | None = None
    time_limit: float | None = None
    nodes: int | None = None
    checkpoints: str | int | Iterable[int] = "geometric"
    start: Solution | None = None
    warm_start: WarmStart | None = None
    warm_iterations: float = 1.0
    locks: LocksLike | None = None
    seed: Seed | None = None
    precision: str | None = None
    threads: int | str = 1
    keep_best: bool = False
    checkpoint: str | Path | None = None
    checkpoint_every: float = math.inf
    checkpoint_iterations: int | None = None
    state_dir: str | Path | None = None
    memory_limit: int | None = None
    cluster: Client | str | None = None
    limits_target: bool = False
    """True if ``iters`` is a default, which ends a solve that may never reach its target."""
    needs_curve: bool = False
    """True if iterations are needed for their own sake (to draw them), so that ``"auto"`` must not
    choose the linear program."""

    def with_end(self) -> SolveRequest:
        """Return the request with the usual end of the game, if it has no stop rule."""
        if self.has_stop_rule or self.record.is_exact:
            return self
        default_target = self.game.defaults.target
        if default_target is None:
            return replace(self, iters=USUAL_ITERATIONS)
        aimed = replace(self, target=to_game_unit("target", default_target, self.game))
        if self.game.n_contestants == 2:
            return aimed
        # No theorem says that three players reach the target.
        return replace(aimed, iters=USUAL_ITERATIONS, limits_target=True)

    def with_game_of_start(self) -> SolveRequest:
        """Return the request for the game of ``start`` if it is the same one with other choices of
        the players merged."""
        start, game = self.start, self.game
        if start is None or start.state is None or not start.algorithm.passes_whole_game:
            return self
        if start.game is game or start.game.digest != game.digest:
            return self
        has_copies = any(
            each.chunked_form(merged=True).trunk.copies is not None for each in (game, start.game)
        )
        setting = Problem(game, start.algorithm, start.locks)
        if not has_copies or equal_merging(start.problem.merged, setting.merged):
            return self
        return replace(self, game=start.game)

    @property
    def is_automatic(self) -> bool:
        """True if the algorithm is chosen by the game and the target."""
        return isinstance(self.algorithm, str) and self.algorithm == AUTOMATIC

    @cached_property
    def record(self) -> Record:
        """The algorithm that will run.

        Raises:
            ValueError: There is no such algorithm, or ``start`` is a solution by another one.
        """
        if self.start is not None:
            if self.algorithm is not None and not self.is_automatic:
                requested = find_algorithm(self.algorithm)
                if requested != self.start.algorithm:
                    raise ValueError(
                        f"start was solved by {self.start.algorithm}, not by {requested}"
                    )
            return self.start.algorithm
        if self.is_automatic or self.wants_proof:
            return choose(
                self.game,
                target=self.target,
                exact=self._may_be_exact,
                precision=self.precision,
            )
        return resolve_algorithm(self.algorithm, self.game, self.precision)

    @property
    def wants_proof(self) -> bool:
        """True if the request is for an exact equilibrium in fractions: a target of 0, and no
        option that needs iterations."""
        is_open = self.algorithm is None or self.is_automatic
        return is_open and self.target == 0 and self.start is None and self._may_be_exact

    @property
    def _may_be_exact(self) -> bool:
        """True if no option needs iterations, so that the linear program can answer the request."""
        return not (
            self.needs_curve
            or self.keep_best
            or self.locks
            or self._has_threads
            or not (isinstance(self.checkpoints, str) and self.checkpoints == "geometric")
            or any(getattr(self, option) is not None for option in MEANS_ITERATIONS)
        )

    @property
    def _has_threads(self) -> bool:
        """True if several threads are requested."""
        return self.threads not in (1, AUTO)

    @property
    def has_budget(self) -> bool:
        """True if iterations, time or nodes are limited."""
        return any(budget is not None for budget in (self.iters, self.time_limit, self.nodes))

    @property
    def is_for_target(self) -> bool:
        """True if the caller gave no budget, and no results on the way are needed: the solve runs
        to a target."""
        has_budget = self.has_budget and not self.limits_target
        return isinstance(self.checkpoints, str) and not (self.needs_curve or has_budget)

    @property
    def has_stop_rule(self) -> bool:
        """True if any stop rule is given."""
        return self.target is not None or self.has_budget

    def check(self) -> None:
        """Check that the arguments are valid, each alone and all together.

        Raises:
            TypeError: The game is not compiled.
            ValueError: An argument is invalid, or the algorithm does not support it; names it.
        """
        if self.game.layout == Layout.RULES:
            self._check_uncompiled()
        if self.start is not None:
            self._check_start(self.start)
        self._refuse(REFUSALS)
        check_stop_rules(self.iters, self.target, self.time_limit, self.nodes)

    def _check_uncompiled(self) -> None:
        """Check the arguments of a solve on rules."""
        name = self.game.name
        if self.is_automatic and self.start is None:
            raise ValueError(f"auto chooses for compiled games: compile_game makes one of {name}")
        refuse_uncompiled(self.record, name)
        self._refuse(UNCOMPILED_REFUSALS)

    def _refuse(self, refusals: Mapping[tuple[str, str], str]) -> None:
        """Check that the solve has every capability that a given option needs.

        Raises:
            ValueError: It lacks one; the message is the reason in ``refusals``.
        """
        capabilities, options = self.capabilities, self.options
        for (capability, option), reason in refusals.items():
            if options[option] and not capabilities[capability]:
                problem = reason.format(algorithm=self.record.name, game=self.game.name)
                is_of_chunks = capability == "chunks"
                raise chunks_error(self.game, problem) if is_of_chunks else ValueError(problem)

    @property
    def capabilities(self) -> dict[str, bool]:
        """Capabilities that options need; each is True if the solve has it."""
        record, layout = self.record, self.game.layout
        has_chunks = layout == Layout.CHUNKS and self.game.chunks.n_chunks > 0
        return {
            "named algorithm": self.start is not None or not self.is_automatic,
            "new solve": self.start is None,
            "file": self.checkpoint is not None,
            "samples": record.is_sampled,
            "no samples": not record.is_sampled,
            "whole passes": record.passes_whole_game,
            "precisions": not record.is_plain,
            "separate play": not record.plays_jointly,
            "iterates": not record.is_exact,
            "exactness": record.is_exact,
            "perfect recall": layout != Layout.TIED,
            "evaluation": layout != Layout.RULES,
            "chunks": record.passes_whole_game and has_chunks,
        }

    @property
    def options(self) -> dict[str, bool]:
        """Options that need a capability; each is True if it is given."""
        # The linear program reaches every target, so that a target does not conflict with its
        # choice.
        has_target = self.target is not None and not (self.is_automatic or self.wants_proof)
        optional = ("seed", "warm_start", "target", "state_dir", "cluster", "checkpoint_iterations")
        return {option: getattr(self, option) is not None for option in optional} | {
            "locks": bool(self.locks),
            "keep_best": self.keep_best,
            "precision or threads": self.precision not in (None, "float64") or self._has_threads,
            "a curve": self.needs_curve,
            "proof": self.wants_proof,
            "stop rule": has_target or self.has_budget,
            "imperfect recall": self.game.layout == Layout.TIED,
        }

    def _check_start(self, start: Solution) -> None:
        """Check that a solution is one to continue from."""
        game = self.game
        if start.state is None:
            raise ValueError(
                f"cannot continue from a solution by {start.algorithm}: it has no state"
            )
        if start.game is not game and start.game.digest != game.digest:
            if start.game.name == game.name:
                raise ValueError(
                    f"start is a solution of another {game.name}: its payoffs or the order of its "
                    "infosets, which another version laid out, differ; solve(start.game, "
                    "start=start) goes on"
                )
            raise ValueError(f"start is a solution of {start.game.name}, not of {game.name}")
        setting = Problem(game, start.algorithm, start.locks)
        # The digests are equal, so that the arrays can differ only in the merged infosets.
        same_numbers = start.game is game or not start.algorithm.passes_whole_game
        if not (same_numbers or equal_merging(start.problem.merged, setting.merged)):
            raise ValueError(
                f"start was solved with other infosets of {game.name} merged; "
                "solve(game, warm_start=start) begins with its regrets and a new average"
            )
        if self.precision is not None:
            start_precision = str(start.state.cumulative.dtype)
            if self.precision != start_precision:
                raise ValueError(f"start was solved in {start_precision}, not in {self.precision}")
        has_locks = self.locks is not None and start.algorithm.passes_whole_game
        if has_locks and locks_for(game, self.locks) != locks_for(game, start.locks):
            raise ValueError("start was solved with other locks")


@checked()
def check_stop_rules(
    iters: Iterations | None,
    target: Target | None,
    time_limit: Seconds | None,
    nodes: Nodes | None,
) -> None:
    """Check that each stop rule is valid.

    Raises:
        ValueError: A stop rule is invalid; names it.
    """


def marks(checkpoints: str | int | Iterable[int], after: int) -> Iterator[int]:
    """Yield the iterations beyond ``after`` at which to evaluate, ascending, each once."""
    candidates: Iterable[int]
    if isinstance(checkpoints, str) and checkpoints == "geometric":
        candidates = (round(10 ** (k / PER_DECADE)) for k in count())
    elif isinstance(checkpoints, str):
        raise ValueError(f"checkpoints must be 'geometric' or numbers, not {brief(checkpoints)}")
    elif isinstance(checkpoints, Iterable):
        iterations = list(checkpoints)
        for candidate in iterations:
            if not is_whole(candidate) or candidate < 1:
                raise ValueError(f"checkpoints must be iterations from 1, not {brief(candidate)}")
        candidates = sorted(iterations)
    elif checkpoints < 1:
        raise ValueError(f"checkpoints must be at least 1 apart, not {checkpoints!r}")
    else:
        candidates = count(int(checkpoints), int(checkpoints))
    for candidate in candidates:
        if candidate > after:
            after = candidate
            yield candidate


def next_chance(trace: Iterable[TracePoint], after: int, target: float) -> int:
    """Predict the next iteration at which a target may be reached.

    The prediction depends only on the evaluations at such iterations, not on interruptions: a
    continued solve ends at the same iteration as an uninterrupted one.

    Args:
        trace: Evaluations so far.
        after: Number of iterations done.
        target: Exploitability to reach.
    """
    known = {point.iteration: point.exploitability for point in trace}
    # Replay the marks from iteration 1: only evaluations at marks count, so that the next mark does
    # not depend on further evaluations, such as those at an interruption.
    mark, last, before = 1, 0, math.inf
    while mark <= after:
        exploitability, steepness = known.get(mark, target), STEEPNESS
        if 0.0 < exploitability < before < math.inf:
            steepness = max(steepness, math.log(before / exploitability) / math.log(mark / last))
        last, before = mark, exploitability
        # Exploitability falls as a power of the iterations: factor by which they must grow.
        growth = (exploitability / target) ** (1 / steepness)
        mark = max(mark + 1, round(mark * min(max(growth, NEAREST), FARTHEST)))
    return mark
