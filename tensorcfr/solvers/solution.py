"""The result of :func:`tensorcfr.solve`."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from errno import EEXIST
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from .._util import html
from .._util.argument_checks import Flag, Limit, Where, checked
from .._util.files import replacing
from ..algorithms import Record
from ..algorithms.theorems import ALONE, ONLY_TWO
from ..evaluation import CorrelatedPlan, Evaluation
from ..evaluation.exact import ExactEquilibrium
from ..evaluation.metrics import meaning_of_exploitability
from ..formats.policies import ARCHIVES
from ..model.arrays import SequenceForm
from ..model.compiled_game import CompiledGame
from ..model.layout import Layout
from ..model.locks import Locks
from ..model.policy import Policy
from ..storage.archive import HEADER, with_suffix, write_arrays
from .base import solver_class
from .problem import Problem
from .solver_arguments import PLAYABLE
from .sums import Sums

TRACE_ROWS = 12
"""Number of checkpoints that a notebook shows."""

KINDS = ("average", "last")
"""Kinds of strategies that may be the best: the average, the last iterate."""


class Status(enum.Enum):
    """Reason why a solve ended."""

    ITERATIONS = "finished all iterations"
    TARGET = "reached the target exploitability"
    TIME_LIMIT = "reached the time limit"
    NODES = "reached the limit of nodes"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped by the progress hook"
    EXACT = "solved exactly"


@dataclass(frozen=True)
class TracePoint:
    """One line of the record of a solve."""

    iteration: int
    """Number of iterations done."""
    nodes_touched: int
    """Number of histories visited so far, including chance nodes and terminals.  A sampled
    traversal visits some histories; a pass over the whole game, one for each player's update,
    visits all."""
    seconds: float
    """Time spent iterating, in seconds, without evaluations."""
    nash_conv: float
    """Sum over players of best-response value minus value, of the average strategy; of the last
    iterate if no iteration is in the average."""
    exploitability: float
    """``nash_conv`` divided by the number of players."""
    decision_nodes_touched: int = 0
    """Number of decision nodes among the histories visited."""
    last_nash_conv: float | None = None
    """``nash_conv`` of the last iterate, the strategy that the next iteration would use; None
    unless ``keep_best`` was given."""
    last_exploitability: float | None = None
    """``last_nash_conv`` divided by the number of players."""
    infosets_held: int | None = None
    """Number of infosets visited so far by a solver on rules; None if all infosets are known."""
    bytes_held: int | None = None
    """Bytes of these infosets."""


class Trace(tuple[TracePoint, ...]):
    """Record of a solve, oldest first; a tuple that notebooks show as table and curve."""

    __slots__ = ()

    def __repr__(self) -> str:
        last = f", the last after {self[-1].iteration:,} iterations" if self else ""
        return f"<Trace: {len(self)} checkpoints{last}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{point.iteration:,}",
                f"{point.nodes_touched:,}",
                f"{point.seconds:.4g}",
                f"{point.exploitability:.4g}",
            )
            for point in self[-TRACE_ROWS:]
        ]
        headings = ("iteration", "nodes touched", "seconds", "exploitability")
        left_out = len(self) - len(rows)
        return html.block(
            f"{len(self)} checkpoints",
            html.curve([(float(point.iteration), point.exploitability) for point in self]),
            html.table(headings, rows, text_columns=0),
            html.note(f"the last {len(rows)}; {left_out} more before them") if left_out else "",
        )


class _Evaluated:
    """Exploitability of strategies that have an evaluation."""

    evaluation: Evaluation

    @property
    def nash_conv(self) -> float:
        """Sum over players of best-response value minus value."""
        return self.evaluation.nash_conv

    @property
    def exploitability(self) -> float:
        """``nash_conv`` divided by the number of players."""
        return self.evaluation.exploitability


@dataclass(frozen=True, eq=False)
class BestIterate(_Evaluated):
    """Least exploitable of the strategies that a solve evaluated."""

    policy: Policy
    """The strategies of all players."""
    evaluation: Evaluation
    """Values and best-response values of ``policy``."""
    iteration: int
    """Number of iterations after which it was evaluated."""
    kind: str
    """``"average"`` or ``"last"``: the average strategy at that time, or the strategy that the next
    iteration would use."""

    def __repr__(self) -> str:
        return f"<BestIterate: {self}, exploitability {self.exploitability:.6g}>"

    def __str__(self) -> str:
        which = "average strategy" if self.kind == "average" else "last iterate"
        return f"{which} of iteration {self.iteration:,}"


@dataclass(frozen=True, eq=False)
class Solution(_Evaluated):
    """Result of a solve: strategies, their values, and the record of the solve."""

    game: CompiledGame
    """The game that was solved."""
    algorithm: Record
    """The algorithm, as data."""
    status: Status
    """Reason why the solve ended."""
    policy: Policy
    """The average strategy, which most theorems are about; read ``policy[label][action]``.  If
    ``delay`` leaves no iteration in the average, the last iterate."""
    evaluation: Evaluation
    """Values and best-response values of ``policy``; after ``efce`` and ``efcce`` values of
    :attr:`joint_play`, and of the players' best deviations from it."""
    iterations: int
    """Number of iterations done, including those of the solution that the solve continued from."""
    seconds: float
    """Time spent iterating, in seconds, without evaluations."""
    trace: tuple[TracePoint, ...] = ()
    """The record at the checkpoints, oldest first."""
    state: Any = field(default=None, repr=False)
    """The solver's arrays, read-only, from which ``solve(game, start=solution)`` continues; None
    after the linear program.  Their numbers are the solver's: if it merges infosets, they are not
    the sequences of the game.  :attr:`sums` has regrets and averages by infoset."""
    locks: Locks | None = None
    """Infosets with given probabilities; the evaluation's best responses play them, too."""
    best: BestIterate | None = None
    """The least exploitable strategy among the average strategies and the last iterates at the
    checkpoints; None unless ``solve`` was called with ``keep_best=True``."""
    exact: ExactEquilibrium | None = None
    """The equilibrium in fractions, of which ``policy`` has the floats, if ``target=0`` requested
    it.  Files do not store it."""
    evaluation_is_checked: bool = True
    """True if :attr:`evaluation` was computed here.  If not, it was read from a file, whose
    strategies would take long to evaluate again, and is as reliable as the file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", Trace(self.trace))
        for array in self.state or ():
            array.flags.writeable = False

    @property
    def form(self) -> SequenceForm:
        """Sequence form of the game that the arrays of :attr:`state` are over."""
        return self.problem.form.trunk

    @property
    def problem(self) -> Problem:
        """Game, algorithm and locks that :attr:`state` belongs to."""
        return Problem(self.game, self.algorithm, self.locks)

    @property
    def value(self) -> tuple[float, ...]:
        """Expected value of each player under ``policy``, in the game's own unit."""
        return self.evaluation.values

    @property
    def guarantee(self) -> str:
        """Theorems and observations about the algorithm's strategies in this game, as a text."""
        if self.game.layout == Layout.TIED:
            return f"No theorem.  {self.game.caveat}"
        # None: the rules of an uncompiled game do not tell whether the sum is constant.
        constant = self.game.constant_sum is None or bool(self.game.constant_sum)
        zero_sum = self.game.n_contestants == 2 and constant
        parts = [self.algorithm.guarantee(zero_sum=zero_sum), self.game.caveat]
        if self.locks:
            parts.insert(1, "Equilibria are those of the game with the locks.")
        if self.game.n_contestants > 2:
            parts.append(ALONE)
        elif zero_sum and self.game.n_players > 2:
            parts.insert(0, ONLY_TWO)
        return "  ".join(filter(None, parts))

    @property
    def _exploitability_note(self) -> str | None:
        """Text about exploitability, if it does not bound the loss of a strategy."""
        if self.algorithm.plays_jointly:
            return (
                "Exploitability is of the joint play: the mean over players of the gain of their "
                "best deviation from it."
            )
        return meaning_of_exploitability(self.game)

    @property
    def joint_play(self) -> CorrelatedPlan:
        """All players' strategies of every iteration, equally likely.

        This is the result of the algorithms ``efce`` and ``efcce``, for
        :func:`tensorcfr.evaluation.correlation_gap`.

        Raises:
            ValueError: The algorithm keeps no joint play.
        """
        if not self.algorithm.plays_jointly:
            raise ValueError(f"{self.algorithm} keeps no strategies of single iterations")
        played = self.state.played
        return [(1.0 / len(played), Policy(self.game, probabilities)) for probabilities in played]

    @property
    def nodes_touched(self) -> int:
        """Number of histories visited; see :class:`TracePoint`."""
        return self._nodes[0]

    @property
    def decision_nodes_touched(self) -> int:
        """Number of decision nodes among the histories visited."""
        return self._nodes[1]

    @cached_property
    def _nodes(self) -> tuple[int, int]:
        kind = solver_class(self.algorithm, self.game)
        if kind is not None:
            return kind.count_nodes(self.game, self.state, self.iterations)
        last = self.trace[-1] if self.trace else None
        return (last.nodes_touched, last.decision_nodes_touched) if last else (0, 0)

    @cached_property
    def sums(self) -> Sums:
        """Cumulative regrets and cumulative strategies by infoset label, in any layout of the game.

        Read ``solution.sums["Ks"].regret["raise"]``.

        Raises:
            ValueError: The algorithm keeps no regrets of single actions, or the game is not
                compiled.
        """
        kind = solver_class(self.algorithm, self.game)
        if kind is None or self.state is None:
            raise ValueError(f"this solution by {self.algorithm} has no sums of regrets")
        return Sums(self.problem, kind.sums_of, self.state)

    @cached_property
    def last_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration would use."""
        kind = solver_class(self.algorithm, self.game)
        if kind is None:
            return self.policy
        return kind.last_policy_of(self.problem, self.state)

    @checked()
    def save(
        self,
        path: Annotated[str | Path, Where()],
        *,
        force: Annotated[bool, Flag()] = False,
    ) -> Path:
        """Write the solution, including its game, to an ``.npz`` file (plain arrays, no pickle).

        Args:
            path: The file; ``.npz`` is added if it has no suffix.
            force: True if an existing file is replaced, once the new file is complete; otherwise it
                is refused.

        Returns:
            The path of the file.

        Raises:
            FileExistsError: The file exists, and ``force`` is False.
            OSError: The file cannot be written.
        """
        from .solution_file import pack_solution

        target = with_suffix(path)
        if target.exists() and not force:
            raise FileExistsError(EEXIST, "the file exists; force=True replaces it", str(target))
        return write_arrays(path, *pack_solution(self))

    @checked()
    def certify(
        self,
        path: Annotated[str | Path, Where()],
        *,
        force: Annotated[bool, Flag()] = False,
    ) -> Path:
        """Write a certificate: the strategies, with intervals for values and exploitability that an
        independent program of one file proves, ``tensorcfr/formats/checker.py``.

        Args:
            path: The file, a text in lines.
            force: True if an existing file is replaced; otherwise it is refused.

        Returns:
            The path of the file.

        Raises:
            TypeError: The rules were solved as they are, without a compiled game.
            ValueError: The checker has no rules of this game, and the game is not flat; or it does
                not prove the claims.
            FileExistsError: The file exists, and ``force`` is False.
            OSError: The file cannot be written.
        """
        from .certificate import certificate_of

        target = Path(path)
        if target.exists() and not force:
            raise FileExistsError(EEXIST, "the file exists; force=True replaces it", str(target))
        text = certificate_of(self.policy, self.exact)
        with replacing(target) as file:
            file.write(text.encode())
        return target

    @classmethod
    @checked()
    def load(
        cls,
        path: Annotated[str | Path | BinaryIO, Where(files=True)],
        *,
        game: Annotated[CompiledGame | Any, PLAYABLE] | None = None,
        memory_limit: Limit = None,
        registered: Annotated[bool, Flag()] = True,
        state_dir: Annotated[str | Path | None, Where()] = None,
    ) -> Solution:
        """Read a solution that :meth:`save` wrote; a solve can continue from it, to the same bits.

        Args:
            path: The file, or a binary file that is open for reading.
            game: The game that the file must be of, which becomes the game of the solution.  It is
                needed for games in chunks that are not built in.  The strategies of an uncompiled
                game that is not built in can be read without it, but the rules are needed to
                continue.
            memory_limit: Bytes that reading and checking may take; by default the free memory.
            registered: True if the algorithm must be registered.  If not, a solution by an
                unregistered algorithm is read without its state: it can be viewed, evaluated and
                exported, but not continued.
            state_dir: For games in chunks: a directory into which the solver's arrays are read,
                which may then be larger than memory, as in :func:`tensorcfr.solve`.  The files are
                temporary files of the solution.

        Raises:
            FileNotFoundError: The file does not exist.  Other errors of the operating system pass
                unchanged.
            ValueError: The file is not a solution, is of another version, or is damaged; the
                message names the reason.
            FileSizeError: The file needs more memory than ``memory_limit``; also a ValueError.
            UnknownGameError: The file is of a game in chunks that is not built in, and ``game`` is
                not given; also a ValueError.
        """
        from .solution_file import read_solution

        return read_solution(path, game, memory_limit, registered=registered, state_dir=state_dir)

    @property
    def has_average(self) -> bool:
        """True if any iteration is in the average.

        If none is, :attr:`policy`, its evaluation, the trace and a ``target`` are about the last
        iterate.
        """
        kind = solver_class(self.algorithm, self.game)
        return kind is None or self.state is None or kind.has_average(self.state)

    @property
    def is_evaluated(self) -> bool:
        """True if value and exploitability are known; they are unknown for an uncompiled game."""
        return not isnan(self.exploitability)

    def summary(self) -> str:
        """Return a short text: game, algorithm, reason of the end, value, exploitability."""
        settled = self.game.round_to_zero
        values = ", ".join(f"{settled(value) + 0.0:+.9g}" for value in self.value)
        best = f"\n  best {settled(self.best.exploitability):.6g}, {self.best}" if self.best else ""
        locked = f", {self.locks.description}" if self.locks else ""
        unchecked = "" if self.evaluation_is_checked else ", as stored in the file"
        is_last = bool(self.iterations) and not self.has_average
        which = ", of the last iterate: no iteration is in the average" if is_last else ""
        if not self.is_evaluated:
            return (
                f"{self.game.name}, not compiled, by {self.algorithm}\n  {self.status.value} "
                f"({self.iterations:,} iterations, {self.nodes_touched:,} nodes touched, "
                f"{self.seconds:.3f} s)\n  {len(self.policy):,} infosets visited; value and "
                "exploitability are not known: analysis.local_best_response gives a lower "
                "bound of exploitability"
            )
        return (
            f"{self.game.name} by {self.algorithm}{locked}\n"
            f"  {self.status.value} ({self.iterations:,} iterations, "
            f"{self.nodes_touched:,} nodes touched, {self.seconds:.3f} s)\n"
            f"  value {values}\n"
            f"  exploitability {settled(self.exploitability):.6g} "
            f"(nash_conv {settled(self.nash_conv):.6g}){unchecked}{which}{best}{self._rise_note}"
            + (f"\n  {meaning}" if (meaning := self._exploitability_note) else "")
        )

    @property
    def _rise_note(self) -> str:
        """A line about an earlier checkpoint with half the exploitability or less; else empty."""
        earlier = min(self.trace, key=lambda point: point.exploitability, default=None)
        settled = self.game.round_to_zero
        if earlier is None or settled(self.exploitability) <= 2 * settled(earlier.exploitability):
            return ""
        return (
            f"\n  exploitability has risen from {settled(earlier.exploitability):.6g} at iteration "
            f"{earlier.iteration:,}; keep_best=True keeps the best strategy of all checkpoints"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        if not self.is_evaluated:
            return html.block(f"{self!r}", html.note(self.summary()))
        settled = self.game.round_to_zero
        rows = [
            (f"value of player {player}", f"{settled(value) + 0.0:+.6g}")
            for player, value in enumerate(self.value)
        ]
        rows += [
            ("exploitability", f"{settled(self.exploitability):.6g}"),
            ("iterations", f"{self.iterations:,}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        points = [(float(point.iteration), point.exploitability) for point in self.trace]
        meaning = self._exploitability_note
        return html.block(
            f"{self.game.name} by {self.algorithm}: {self.status.value}",
            html.table((), rows),
            html.curve(points),
            html.note(meaning) if meaning else "",
        )

    def __repr__(self) -> str:
        if not self.is_evaluated:
            return (
                f"<Solution of {self.game.name}, not compiled, by {self.algorithm}: "
                f"{self.iterations:,} iterations, {len(self.policy):,} infosets visited>"
            )
        return (
            f"<Solution of {self.game.name} by {self.algorithm}: {self.iterations:,} iterations, "
            f"exploitability {self.game.round_to_zero(self.exploitability):.6g}>"
        )


ARCHIVES[HEADER] = lambda game, path: Solution.load(path, game=game, registered=False)
