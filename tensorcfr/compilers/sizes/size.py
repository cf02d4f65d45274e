"""What is told of a game's size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..._util.plain import plain
from ...errors import MOST_BYTES, format_bytes
from .. import histories

# Measured on the built-in games.
BYTES_PER_STEP = 24
"""Bytes per terminal history where payoffs are single entries: two players, 12 each."""
BYTES_PER_PUBLIC_NODE = 20
BYTES_PER_INFOSET = 8
BYTES_PER_SEQUENCE = 4
BYTES_LAID_OUT = 230
"""Per public node, while a public tree is unfolded and laid out."""
SOLVER_BYTES = 51
"""Per sequence: five float64 arrays of CFR+, and a policy."""
NANOSECONDS_PER_SEQUENCE = 3.0
NANOSECONDS_PER_ENTRY = 4.0
NANOSECONDS_FIXED = 300.0
NANOSECONDS_PER_NUMBER = (0.5, 4.0)
"""Of one iteration in chunks in single precision, for each sequence and each hand at a terminal."""
UNITS = (("years", 3.15576e7), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
"""Of time."""
CHUNK_BYTES = {"float64": (16.0, 16, 8), "float32": (8.0, 8, 4), "int16": (4.25, 16, 4)}
"""Of a solver in chunks: per number, for regrets and averages, in 16 bits with their scales; per
number of the trunk in addition, for reaches and values, in 16 bits for its floats; and per entry of
a chunk, for its value."""


class Chunks(NamedTuple):
    """What there is of a game that is solved in chunks."""

    numbers: int
    """Numbers in each array of a solver."""
    trunk: int
    """Those of the trunk among them."""
    entries: int
    """Sequences through which chunks are entered, all told."""
    ends: int
    """Hands of both players at the public terminals."""
    nbytes: float
    """Bytes of the arrays of the compiled game, to a few percent."""
    compiling: float
    """What compiling takes at most, in sizes of the compiled game ..."""
    beside: int = 0
    """... and bytes that do not depend on that size."""
    scratch: int = 0
    """Bytes of scratch that grows with the hands, which solving takes in addition."""


@dataclass(frozen=True)
class Size:
    """How large a game is.  Of numbers that are estimated, ``interval`` says how well."""

    name: str
    """The game."""
    n_players: int
    """Players."""
    histories: float
    """Histories: the root, chance nodes, decision nodes and terminals."""
    terminals: float
    """Terminal histories."""
    decisions: float
    """Decision nodes."""
    infosets: float
    """Infosets of all players.  Where histories are sampled, it is rather too small than too large:
    ``infosets_interval`` says how well it is known."""
    sequences: float
    """Sequences of all players, the empty ones included."""
    public_nodes: int | None
    """Nodes of the public tree; None where the rules give none."""
    passes: int = 0
    """Passes of the estimator; 0 where all is counted."""
    relative_error: float = 0.0
    """Standard error of ``histories``, divided by it; 0 where all is counted, infinite where one
    pass did not end in the time given."""
    infosets_interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of ``infosets``.  Where histories are sampled its upper end is the number of
    decision nodes, unless most of the infosets that passes meet have been met before."""
    chunks: Chunks | None = None
    """What is solved where the game is cut into chunks; None where it cannot be cut."""
    is_cut: bool = False
    """Whether the plain call of :func:`tensorcfr.compile_game` cuts it: bytes and seconds are those
    of that call."""
    is_whole: bool = True
    """Whether everything is counted; otherwise time or memory ended the count, and there is more of
    everything."""

    def __post_init__(self) -> None:
        if self.passes == 0:
            most = self.infosets if self.is_whole else math.inf
            object.__setattr__(self, "infosets_interval", (self.infosets, most))

    @property
    def is_exact(self) -> bool:
        """Whether all is counted, and nothing estimated."""
        return self.passes == 0 and self.is_whole

    @property
    def _solved(self) -> Chunks | None:
        """What the plain call cuts; None where it lays the game out."""
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
        """Bytes of the compiled game, from and to: in games of private hands it depends on how many
        payoffs are products and how many are single entries."""
        if chunks := self._solved:
            return chunks.nbytes, chunks.nbytes
        if self.public_nodes is None:
            least = self.histories * 45 + self.sequences * 16
            return least, least + self.terminals * 12 * self.n_players * (self.n_players - 1)
        least = (
            self.public_nodes * BYTES_PER_PUBLIC_NODE
            + self.infosets * BYTES_PER_INFOSET
            + self.sequences * BYTES_PER_SEQUENCE
        )
        return least, least + self.terminals * BYTES_PER_STEP

    @property
    def bytes_compiling(self) -> float:
        """Bytes that compiling takes at least, the compiled game included."""
        if chunks := self._solved:
            return chunks.compiling * chunks.nbytes + chunks.beside
        if self.public_nodes is None:
            return self.histories * histories.BYTES_AFTER_WALK
        return self.public_nodes * BYTES_LAID_OUT + self.bytes_compiled[0]

    @property
    def bytes_solving(self) -> float:
        """Bytes that CFR+ takes in addition, at most, in double precision: less where symmetric
        infosets are merged."""
        return self.bytes_solving_in("float64")

    def bytes_solving_in(self, precision: str) -> float:
        """The same in ``"float64"``, ``"float32"`` or ``"int16"``, which differ only where the game
        is solved in chunks."""
        if not (chunks := self._solved):
            return self.sequences * SOLVER_BYTES
        each, of_trunk, of_entry = CHUNK_BYTES[precision]
        numbers = chunks.numbers * each + chunks.trunk * of_trunk + chunks.entries * of_entry
        return numbers + chunks.scratch

    def bytes_in_all(self, precision: str = "float64") -> tuple[float, float]:
        """Bytes by which the process grows, from and to: the compiled game, and CFR+ with its
        scratch, an evaluation and a policy."""
        (low, high), solving = self.bytes_compiled, self.bytes_solving_in(precision)
        least = max(self.bytes_compiling, low + solving)
        return least, max(least, high + solving)

    @property
    def seconds_per_iteration(self) -> tuple[float, float]:
        """Seconds of one iteration of CFR+ on one core of 2020 or later, from and to; in single
        precision where it is solved in chunks."""
        if chunks := self._solved:
            work = (chunks.numbers + chunks.ends) * 1e-9
            return NANOSECONDS_PER_NUMBER[0] * work, NANOSECONDS_PER_NUMBER[1] * work
        sweep = NANOSECONDS_FIXED + NANOSECONDS_PER_SEQUENCE * self.sequences
        entries = NANOSECONDS_PER_ENTRY * self.terminals * self.n_players * (self.n_players - 1)
        low = sweep + entries if self.public_nodes is None else sweep
        return 0.5 * low * 1e-9, 2 * (sweep + entries) * 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; infinite numbers as None."""
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
        """The size in words, some lines.

        Args:
            cut: How the reader says that the game is to be cut.
        """

        def number(value: float) -> str:
            # Whole numbers, which may be beyond the digits of a float.
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
    """A large number, in words that can be read."""
    if not math.isfinite(value):
        return "any number of"
    if value < 1e6:
        return f"{value:,.0f}"
    if value >= 1e12:
        return f"{value:.2g}"
    return f"{value / 1e9:.3g} billion" if value >= 1e9 else f"{value / 1e6:.3g} million"


def _seconds(seconds: float) -> str:
    unit, size = next((one for one in UNITS if seconds >= one[1]), UNITS[-1])
    scaled = seconds / size
    return f"{scaled:,.0f} {unit}" if scaled >= 10 else f"{scaled:.2g} {unit}"
