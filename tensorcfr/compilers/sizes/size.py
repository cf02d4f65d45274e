"""Report of a game's size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..._util.plain import plain
from ...errors import MOST_BYTES, format_bytes
from .. import history_reader

# The constants below were measured on the built-in games.
BYTES_PER_STEP = 24
"""Bytes per terminal history if payoffs are single entries: 12 for each of two players."""
BYTES_PER_PUBLIC_NODE = 20
BYTES_PER_INFOSET = 8
BYTES_PER_SEQUENCE = 4
BYTES_LAID_OUT = 230
"""Peak bytes per public node while a public tree is unfolded and laid out."""
SOLVER_BYTES = 51
"""Bytes per sequence: five float64 arrays of CFR+, and a policy."""
NANOSECONDS_PER_SEQUENCE = 3.0
NANOSECONDS_PER_ENTRY = 4.0
NANOSECONDS_FIXED = 300.0
NANOSECONDS_PER_NUMBER = (0.5, 4.0)
"""Lower and upper bound on the nanoseconds of an iteration in chunks in single precision, per
sequence and per hand at a terminal."""
UNITS = (("years", 3.15576e7), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
"""Units of time, in seconds."""
CHUNK_BYTES = {"float64": (16.0, 16, 8), "float32": (8.0, 8, 4), "int16": (4.25, 16, 4)}
"""Bytes of a solver in chunks by precision.  The first number is per sequence, for regrets and
averages; with ``"int16"`` it includes their scales.  The second is per sequence of the trunk in
addition, for reaches and values; with ``"int16"`` it includes further float arrays of the trunk.
The third is per entry of a chunk, for its value."""


class ChunkCounts(NamedTuple):
    """Counts of a game that is solved in chunks."""

    numbers: int
    """Length of each array of a solver."""
    trunk: int
    """Part of ``numbers`` that belongs to the trunk."""
    entries: int
    """Number of sequences through which chunks are entered, over all chunks."""
    ends: int
    """Number of hands of both players at the public terminals, summed over the terminals."""
    nbytes: float
    """Bytes of the arrays of the compiled game, to a few percent."""
    compiling: float
    """Peak memory of compiling, as a multiple of ``nbytes``."""
    extra_bytes: int = 0
    """Bytes that compiling takes in addition to ``compiling * nbytes``."""
    scratch: int = 0
    """Bytes of scratch that solving takes in addition; they grow with the number of hands."""


@dataclass(frozen=True)
class GameSize:
    """Size of a game.  If numbers are estimated, ``interval`` gives their precision."""

    name: str
    """Name of the game."""
    n_players: int
    """Number of players."""
    histories: float
    """Number of histories: the root, chance nodes, decision nodes and terminals."""
    terminals: float
    """Number of terminal histories."""
    decisions: float
    """Number of decision nodes."""
    infosets: float
    """Number of infosets of all players.  If histories are sampled, it tends to be too small;
    ``infosets_interval`` gives the precision."""
    sequences: float
    """Number of sequences of all players, including the empty ones."""
    public_nodes: int | None
    """Number of nodes of the public tree; None if the rules define none."""
    passes: int = 0
    """Number of passes of the estimator; 0 if everything is counted."""
    relative_error: float = 0.0
    """Standard error of ``histories``, divided by it; 0 if everything is counted, infinite if a
    pass did not end in the given time."""
    infosets_interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of ``infosets``.  If histories are sampled, its upper end is the number of
    decision nodes, unless most infosets of a pass were visited in earlier passes."""
    chunks: ChunkCounts | None = None
    """Counts of the game in chunks; None if it cannot be cut."""
    is_cut: bool = False
    """True if :func:`tensorcfr.compile_game` cuts the game by default; bytes and seconds refer to
    that call."""
    is_whole: bool = True
    """True if the count is complete.  Otherwise time or memory ended it, and all numbers are too
    small."""

    def __post_init__(self) -> None:
        if self.passes == 0:
            most = self.infosets if self.is_whole else math.inf
            object.__setattr__(self, "infosets_interval", (self.infosets, most))

    @property
    def is_exact(self) -> bool:
        """True if everything is counted and nothing is estimated."""
        return self.passes == 0 and self.is_whole

    @property
    def _solved(self) -> ChunkCounts | None:
        """Counts of the game in chunks; None if it is compiled into a flat game by default."""
        return self.chunks if self.is_cut else None

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of ``histories``, by Student's t over the passes."""
        if self.is_exact:
            return self.histories, self.histories
        if not math.isfinite(self.relative_error):
            return self.histories, math.inf
        free = max(1, self.passes - 1)
        width = (1.96 + 2.37 / free + 2.8 / free**2) * self.relative_error * self.histories
        return max(1.0, self.histories - width), self.histories + width

    @property
    def bytes_compiled(self) -> tuple[float, float]:
        """Lower and upper bound on the bytes of the compiled game.  For a game of private hands,
        they depend on how many payoffs are in blocks and how many are single entries."""
        if chunks := self._solved:
            return chunks.nbytes, chunks.nbytes
        if self.public_nodes is None:
            least = self.histories * 45 + self.sequences * 16
            entries = self.terminals * 12 * self.n_players * (self.n_players - 1)
            # Solvers may pass over a second form, with fewer payoffs.
            return least, least + 2 * entries + self.sequences * 12
        least = (
            self.public_nodes * BYTES_PER_PUBLIC_NODE
            + self.infosets * BYTES_PER_INFOSET
            + self.sequences * BYTES_PER_SEQUENCE
        )
        return least, least + self.terminals * BYTES_PER_STEP

    @property
    def bytes_compiling(self) -> float:
        """Lower bound on the peak memory of compiling in bytes, the compiled game included."""
        if chunks := self._solved:
            return chunks.compiling * chunks.nbytes + chunks.extra_bytes
        if self.public_nodes is None:
            return self.histories * history_reader.BYTES_AFTER_READING
        return self.public_nodes * BYTES_LAID_OUT + self.bytes_compiled[0]

    @property
    def bytes_solving(self) -> float:
        """Upper bound on the bytes that CFR+ takes in addition, in double precision; fewer if
        symmetric infosets are merged."""
        return self.bytes_solving_in("float64")

    def bytes_solving_in(self, precision: str) -> float:
        """Return the upper bound on the bytes that CFR+ takes in addition, in a precision.

        The precision, ``"float64"``, ``"float32"`` or ``"int16"``, matters only for a game in
        chunks.
        """
        if not (chunks := self._solved):
            return self.sequences * SOLVER_BYTES
        each, of_trunk, of_entry = CHUNK_BYTES[precision]
        numbers = chunks.numbers * each + chunks.trunk * of_trunk + chunks.entries * of_entry
        return numbers + chunks.scratch

    def bytes_in_all(self, precision: str = "float64") -> tuple[float, float]:
        """Return a lower and an upper bound on the growth of the process, in bytes.

        The growth includes the compiled game, and CFR+ with its scratch, an evaluation and a
        policy.
        """
        (low, high), solving = self.bytes_compiled, self.bytes_solving_in(precision)
        least = max(self.bytes_compiling, low + solving)
        return least, max(least, high + solving)

    @property
    def seconds_per_iteration(self) -> tuple[float, float]:
        """Lower and upper bound on the seconds of one iteration of CFR+ on one core of 2020 or
        later; in single precision if the game is solved in chunks."""
        if chunks := self._solved:
            work = (chunks.numbers + chunks.ends) * 1e-9
            return NANOSECONDS_PER_NUMBER[0] * work, NANOSECONDS_PER_NUMBER[1] * work
        pass_ns = NANOSECONDS_FIXED + NANOSECONDS_PER_SEQUENCE * self.sequences
        entry_ns = NANOSECONDS_PER_ENTRY * self.terminals * self.n_players * (self.n_players - 1)
        low = pass_ns + entry_ns if self.public_nodes is None else pass_ns
        return 0.5 * low * 1e-9, 2 * (pass_ns + entry_ns) * 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values for JSON; infinite numbers become None."""
        return {
            name: plain(getattr(self, name))
            for name in (
                "name",
                "n_players",
                "is_exact",
                "histories",
                "interval",
                "relative_error",
                "passes",
                "terminals",
                "decisions",
                "infosets",
                "infosets_interval",
                "sequences",
                "public_nodes",
                "bytes_compiling",
                "bytes_compiled",
                "bytes_solving",
                "seconds_per_iteration",
            )
        } | {"bytes_in_all": plain(self.bytes_in_all())}

    def __str__(self) -> str:
        return self.described()

    def described(self, cut: str = "cut=True") -> str:
        """Return the size as a text of several lines.

        Args:
            cut: Spelling of the option that cuts the game, for example in Python or on the command
                line.
        """

        def number(value: float) -> str:
            # Counts may have more digits than a float, so they are formatted as integers.
            return f"{int(value):,}" if self.is_exact else f"about {three_digits(value)}"

        exact = "counted exactly" if self.is_exact else f"estimated from {self.passes:,} passes"
        if not self.is_whole:
            exact = "too large to count in this time and memory"
        lines = [f"{self.name}: {self.n_players} players, {exact}"]
        if self.is_exact:
            lines.append(f"  {number(self.histories)} histories")
        elif not math.isfinite(self.relative_error):
            lines.append(f"  more than {three_digits(self.histories)} histories")
        else:
            low, high = map(three_digits, self.interval)
            lines.append(f"  {number(self.histories)} histories (95 %: {low} to {high})")
        if self.public_nodes is not None:
            nodes = f"{self.public_nodes:,}"
            if not self.is_whole:
                nodes = f"more than {three_digits(self.public_nodes)}"
            lines.append(f"  {nodes} nodes in the public tree")
        low, high = map(three_digits, self.infosets_interval)
        between = "" if self.is_exact else f" (95 %: {low} to {high})"
        lines.append(
            f"  {number(self.infosets)} infosets{between}, {number(self.sequences)} sequences"
            if self.is_exact or math.isfinite(self.relative_error)
            else f"  more than {low} infosets"
        )
        if self.bytes_compiling >= MOST_BYTES:
            lines.append(
                f"  too large to compile: that would take more than {MOST_BYTES >> 50:,} PiB; "
                "sampling algorithms can play it by its rules (UncompiledGame)"
            )
            return "\n".join(lines)
        if not self.is_whole:
            lines.append(f"  compiling takes more than {format_bytes(int(self.bytes_compiling))}")
            return "\n".join(lines)
        in_all = (format_bytes(int(b)) for b in self.bytes_in_all())
        low_bytes, high_bytes = (format_bytes(int(b)) for b in self.bytes_compiled)
        lines += [
            f"  compiling takes about {format_bytes(int(self.bytes_compiling))}; "
            f"compiled {' to '.join(dict.fromkeys((low_bytes, high_bytes)))}",
            f"  solving by CFR+ takes at most {format_bytes(int(self.bytes_solving))} more, and "
            f"{_seconds(self.seconds_per_iteration[0])} to "
            f"{_seconds(self.seconds_per_iteration[1])} per iteration",
            f"  in all {' to '.join(dict.fromkeys(in_all))}",
        ]
        if self.chunks and not self.is_cut:
            whole = replace(self, is_cut=True).bytes_in_all()[1]
            lines.append(f"  cut into chunks ({cut}) {format_bytes(int(whole))} in all")
        return "\n".join(lines)


def three_digits(value: float) -> str:
    """Return a large number with three digits, in words."""
    if not math.isfinite(value):
        return "any number of"
    if value < 1e6:
        return f"{value:,.0f}"
    if value >= 1e12:
        return f"{value:.2g}"
    return f"{value / 1e9:.3g} billion" if value >= 1e9 else f"{value / 1e6:.3g} million"


def _seconds(seconds: float) -> str:
    unit, size = next((pair for pair in UNITS if seconds >= pair[1]), UNITS[-1])
    scaled = seconds / size
    return f"{scaled:,.0f} {unit}" if scaled >= 10 else f"{scaled:.2g} {unit}"
