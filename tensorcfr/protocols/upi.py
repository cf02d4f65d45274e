"""PioSOLVER's text protocol, UPI: one command per line, and one answer per command.

Source: the documentation of the protocol (piosolver.com/docs/upi).  Lists of 1,326 numbers are in
PioSOLVER's order of hands.  Expected values count the chips that a player has put in since the
start, so both players' values add up to the pot at the start, minus rake.
"""

from __future__ import annotations

import inspect
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from threading import RLock, Thread
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from .._util.hardware import available_cores
from .._util.version import __version__
from ..analysis import SolvedSpot
from ..compilers import compile_game
from ..errors import suggest
from ..evaluation import Evaluation
from ..formats.piosolver import POSITIONS, TREE_COMMANDS, PioTree, amount_of, position
from ..games.poker.ranges import PIOSOLVER_ORDER, read_range
from ..solvers.driver import solve
from ..solvers.loop import Progress
from ..solvers.solution import Solution, Status
from .pio_nodes import HAND_ORDER, ROOT, PioNode, PioNodes

MAX_CHARACTERS = 1_000_000
"""Largest length of a command."""
MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH = 20_000_000, 8
"""Largest size of a script, and largest number of scripts that load each other."""
MAX_INFO_LINES = 1_000
ENDLESS = 10**9
"""Iterations of a solve that ends only by ``stop``."""
BANNER = (
    f"tensorcfr {__version__}, text protocol of PioSOLVER",
    "MIT license",
    "registered to you",
)
"""First lines of the output; clients expect three."""
REASONS = {
    Status.TARGET: "required accuracy reached",
    Status.TIME_LIMIT: "time limit reached",
    Status.ITERATIONS: "steps done",
}
"""Reason why the solver stopped, if not by a request."""
BENCH: dict[str, Any] = {
    "board": "QsJh2h",
    "ranges": ("top 20%", "top 30%"),
    "pot": 180,
    "stacks": 910,
    "bets": "50%",
    "raises": "3x",
}
BENCH_ITERATIONS = 6


class UpiSession:
    """Session of the protocol: a tree, its solution, and the running solver.

    Args:
        write: Function that receives each piece of output, whole lines.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write, self._lock = write, RLock()
        self.end = ""
        """Line after each answer; none if it is empty."""
        self.tree, self.info = PioTree(), dict[str, str]()
        self.accuracy: tuple[float, bool] | None = None
        """Accuracy, and True if it is a share of the pot; None for the game's default target."""
        self.threads, self.every = 1, 0
        """Threads, and iterations between two reports of the running solver; 0 for no reports."""
        self.solved: _Solved | None = None
        """Built tree with its solution."""
        self.running: _Running | None = None
        self.is_over = False
        self._depth = 0
        self._begun = time.monotonic()

    def run(self, lines: Iterable[str]) -> None:
        """Execute the commands in some lines until the end, or until ``exit``.

        Args:
            lines: Commands; a line that is longer than a command may be is refused.
        """
        self._say(BANNER, ended=False)
        try:
            for line in lines:
                self.answer(line)
                if self.is_over:
                    break
        finally:
            self._stop()

    def answer(self, line: str) -> None:
        """Write the answer to a command; nothing for an empty line or a comment."""
        if len(line) > MAX_CHARACTERS:
            self._say([f"ERROR: a command has at most {MAX_CHARACTERS:,} characters"])
            return
        if not line.strip() or line.lstrip().startswith("#"):
            return
        reply = self._reply(line)
        if not self.is_over:
            self._say(reply)
        self._start()  # After the answer to go, as clients expect.

    def _reply(self, line: str) -> list[str]:
        """Execute a command, and return the lines of its answer."""
        self._start()
        command, _, rest = line.strip().partition(" ")
        words = [quoted or word for quoted, word in _WORDS.findall(rest)]
        try:
            if command in TREE_COMMANDS:
                TREE_COMMANDS[command](self.tree, *rest.split())
                return [f"{command} ok!"]
            if command not in COMMANDS:
                known = (*COMMANDS, *TREE_COMMANDS)
                return [f"ERROR: there is no command {brief(command)}; {suggest(command, known)}"]
            if command in NEED_REST and self._is_running:
                raise ValueError("the solver is running: send stop or wait_for_solver first")
            reply = _call(COMMANDS[command], self, words)
        except Exception as error:  # A defect in one command must not end the session.
            problem = " ".join(str(error).split()) or type(error).__name__
            return [f"ERROR: {command}: {problem}"]
        return [f"{command} ok!"] if reply is None else reply

    def _say(self, lines: Iterable[str], *, ended: bool = True) -> None:
        """Write lines in one piece, and the end string."""
        text = "".join(f"{line}\n" for line in lines)
        with self._lock:
            self._write(text + (f"{self.end}\n" if ended and self.end else ""))

    def _start(self) -> None:
        """Start the solve of ``go``, if it has not been started."""
        if self.running is not None and not self.running.is_started:
            self.running.is_started = True
            self.running.thread.start()

    @property
    def _is_running(self) -> bool:
        return self.running is not None and self.running.thread.is_alive()

    # ----------------------------------------------------------------------------- the session

    def is_ready(self) -> None:
        """Report that the solver is ready."""

    def exit(self) -> None:
        """End the session."""
        self.is_over = True

    def set_end_string(self, text: str) -> None:
        """Set the line that follows each answer."""
        self.end = text

    def reset_end_string(self) -> None:
        """Write no line after an answer."""
        self.end = ""

    def echo(self, *words: str) -> list[str]:
        """Write words."""
        return [" ".join(words)]

    def show_version(self) -> list[str]:
        """Write the version of this program."""
        return [__version__]

    def show_hand_order(self) -> list[str]:
        """Write the hands in the order of all lists of numbers."""
        return [" ".join(HAND_ORDER)]

    def solver_time(self) -> list[str]:
        """Write the seconds since the start of the session."""
        return [f"{time.monotonic() - self._begun:.3f}"]

    def load_script(self, name: str) -> list[str]:
        """Execute the commands of a file, and write each answer."""
        lines: list[str] = []
        for line in self._script(name):
            lines += self._reply(line)
        return [*lines, "load_script ok!"]

    def load_script_silent(self, name: str) -> None:
        """Execute the commands of a file; write only the first error."""
        for line in self._script(name):
            reply = self._reply(line)
            if reply and reply[0].startswith("ERROR"):
                raise ValueError(reply[0].removeprefix("ERROR: "))

    def _script(self, name: str) -> Iterator[str]:
        """Yield the commands of a file."""
        if self._depth >= MAX_SCRIPT_DEPTH:
            raise ValueError(f"at most {MAX_SCRIPT_DEPTH} scripts can load each other")
        if not Path(name).is_file():
            raise FileNotFoundError(f"there is no file {brief(name)}")
        with Path(name).open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_SCRIPT_BYTES + 1)
        if len(text) > MAX_SCRIPT_BYTES:
            raise ValueError(f"a script has at most {MAX_SCRIPT_BYTES:,} characters")
        self._depth += 1
        try:
            for line in text.splitlines():
                if line.startswith("#"):
                    self._read_info(line)
                elif line.strip() and not self.is_over:
                    yield line
        finally:
            self._depth -= 1

    # -------------------------------------------------------------------------------- the tree

    def build_tree(self) -> None:
        """Compile the tree of the commands so far."""
        options = self.tree.options()
        self.solved = None  # Frees its memory first.
        self.solved = _Solved(solve(compile_game("holdem", **options), iters=0))

    def free_tree(self) -> None:
        """Forget the tree and its solution."""
        self.solved = None

    def is_tree_present(self) -> list[str]:
        """Write whether there is a tree."""
        return ["true" if self.solved else "false"]

    def load_tree(self, name: str, *kind: str) -> None:
        """Read the tree and the solution in a file that ``dump_tree`` wrote."""
        solved = _Solved(_load(name))
        self.solved, self.tree = solved, solved.tree  # A bad file leaves the old tree.

    def dump_tree(self, name: str, *kind: str) -> None:
        """Write the tree and its solution to a file; always the whole solution."""
        solution = self._solved.solution
        part = Path(f"{name}.{os.getpid()}.npz")
        try:
            solution.save(part, force=True)
            part.replace(name)
        finally:
            part.unlink(missing_ok=True)

    def show_metadata(self, name: str) -> list[str]:
        """Write the root, the stack, the ranges and the information of the tree in a file."""
        solved = _Solved(_load(name))
        ranges = [_numbers(weights) for weights in solved.ranges]
        stack = solved.nodes.rules.options["stacks"]
        info = _info(solved.tree.info())
        return [*solved.root(), "", f"{stack:g}", *ranges, *info, "show_metadata ok!"]

    def show_effective_stack(self) -> list[str]:
        """Write the stack of each player at the start."""
        return [f"{self._solved.nodes.rules.options['stacks']:g}"]

    def show_board_no_iso(self) -> list[str]:
        """Write the board."""
        return [self._solved.root()[2]]

    def show_tree_info(self) -> list[str]:
        """Write the configuration of the tree, and the lines of ``add_info_line``."""
        return _info(self.tree.info() | self.info)

    def add_info_line(self, *words: str) -> None:
        """Add a line ``#Key#Value`` to the information of the tree."""
        if not self._read_info(" ".join(words)):
            raise ValueError("an information line is like #Key#Value")

    def reset_tree_info(self) -> None:
        """Remove the lines of ``add_info_line``."""
        self.info = {}

    def _read_info(self, line: str) -> bool:
        """Read an information line, and return whether it is one."""
        match line.strip().split("#"):
            case "", key, value if key and len(self.info) < MAX_INFO_LINES:
                self.info[key] = value
                return True
        return False

    def show_all_lines(self) -> list[str]:
        """Write the names of all nodes, without their cards."""
        return [*self._solved.nodes.names()]

    def show_node(self, name: str) -> list[str]:
        """Write a node."""
        if name == ROOT:
            return [*self._solved.root(), ""]
        return [*self._solved.nodes.describe(self._solved.nodes.find(name)), ""]

    def show_children(self, name: str) -> list[str]:
        """Write all nodes after a node."""
        nodes = self._solved.nodes
        children = [nodes.first] if name == ROOT else nodes.children(nodes.find(name))
        return [
            line
            for number, child in enumerate(children)
            for line in (f"child {number}:", *nodes.describe(child), "")
        ]

    # ------------------------------------------------------------------------------- the solve

    def set_threads(self, count: str) -> None:
        """Set the threads of the solver, at most one per core; 0 for all cores."""
        threads, cores = _count(count, "set_threads"), available_cores()
        self.threads = min(threads or cores, cores)

    def set_accuracy(self, number: str, unit: str = "chips") -> None:
        """Set the exploitability at which the solver stops, in chips or as a fraction of the pot;
        0 for none."""
        if unit not in ("chips", "fraction"):
            raise ValueError(f"accuracy is in chips or a fraction, not {brief(unit)}")
        self.accuracy = float(amount_of(number, "set_accuracy")), unit == "fraction"

    def set_info_freq(self, steps: str) -> None:
        """Set the iterations between two reports of the running solver; 0 for no reports."""
        self.every = _count(steps, "set_info_freq")

    def accept(self, *words: str) -> None:
        """Accept a setting that has no effect here."""

    def go(self, number: str | None = None, unit: str = "seconds") -> None:
        """Start the solver, for some seconds or steps, or until the accuracy is reached."""
        solved, limits = self._solved, dict[str, Any]()
        if number is not None:
            amount = amount_of(number, "go")
            if unit not in ("seconds", "steps") or not amount:
                raise ValueError("go takes a number of seconds or steps above 0")
            is_steps = unit == "steps"
            limits = {"iters": _count(number, "go")} if is_steps else {"time_limit": float(amount)}
        target = None
        if self.accuracy is not None:
            accuracy, is_share = self.accuracy
            pot = solved.nodes.rules.pot_value
            target = (accuracy * pot if is_share else accuracy) or None
            if target is None and not limits:
                limits = {"iters": ENDLESS}
        elif not limits:
            target = solved.solution.game.defaults.target
        self.running = _Running(self, solved, limits | {"target": target})

    def stop(self) -> None:
        """Stop the solver."""
        self._stop()

    def wait_for_solver(self) -> None:
        """Wait until the solver has stopped."""
        if self.running is not None:
            self.running.thread.join()

    def _stop(self) -> None:
        self._start()
        if self.running is not None:
            self.running.is_stopped = True
            self.running.thread.join()

    def bench(self) -> list[str]:
        """Solve a fixed flop for six iterations, and write the seconds."""
        game = compile_game("holdem", **BENCH)
        solve(game, iters=1, checkpoints=(), threads=self.threads)  # Compiles the kernels.
        begun = time.perf_counter()
        solve(game, iters=BENCH_ITERATIONS, checkpoints=(), threads=self.threads)
        return [f"Time taken: {time.perf_counter() - begun:.3f}"]

    # -------------------------------------------------------------------------------- numbers

    @property
    def _solved(self) -> _Solved:
        if self.solved is None:
            raise ValueError("there is no tree: build_tree or load_tree comes first")
        return self.solved

    def show_range(self, player: str, name: str | None = None) -> list[str]:
        """Write a player's range at a node; without a node the range of ``set_range``."""
        number = position(player)
        if name is None:
            weights = self.tree.ranges[number]
            if weights is None:
                raise ValueError(f"set_range {POSITIONS[number]} comes first")
            return [_numbers(weights[PIOSOLVER_ORDER])]
        place = self._solved.nodes.find(name)
        return [_numbers(self._solved.range(number, place))]

    def show_strategy(self, name: str) -> list[str]:
        """Write the frequencies of the actions, one line for each child of a decision."""
        return [_numbers(row) for row in self._solved.strategy(self._solved.nodes.find(name))]

    def calc_ev(self, player: str, name: str) -> list[str]:
        """Write the expected value of each hand, and its matchups."""
        number, place = position(player), self._solved.nodes.find(name)
        matchups = self._solved.matchups(number, place)
        return [_numbers(self._solved.values(number, place, matchups)), _numbers(matchups)]

    def calc_ev_pp(self, player: str, name: str) -> list[str]:
        """Write the expected value and the matchups of each hand by name, and the mean value."""
        number, place = position(player), self._solved.nodes.find(name)
        matchups = self._solved.matchups(number, place)
        values = self._solved.values(number, place, matchups)
        return [
            *(
                f"{HAND_ORDER[hand]} {values[hand]:.3f} {matchups[hand]:.3f}"
                for hand in np.flatnonzero(matchups > 0.0).tolist()
            ),
            f"EV: {_mean(values, matchups):.3f}",
        ]

    def calc_eq_node(self, player: str, name: str) -> list[str]:
        """Write the equity of each hand, its matchups, and the equity of the range."""
        number, place = position(player), self._solved.nodes.find(name)
        matchups = self._solved.matchups(number, place)
        equities = self._solved.equities(number, place, matchups)
        return [_numbers(equities), _numbers(matchups), f"{_mean(equities, matchups):.9g}"]

    def calc_results(self) -> list[str]:
        """Write values, best-response values and the exploitability."""
        return self._solved.results()

    def calc_global_freq(self, name: str) -> list[str]:
        """Write the probability of reaching a node."""
        solved = self._solved
        return [f"{solved.weight(solved.nodes.find(name)) / solved.weight(solved.nodes.first):.9g}"]


@dataclass(frozen=True)
class _Solved:
    """Solution of a tree, with its lookups."""

    solution: Solution

    @cached_property
    def nodes(self) -> PioNodes:
        return PioNodes(self.solution.game)

    @cached_property
    def spot(self) -> SolvedSpot:
        return SolvedSpot(self.solution)

    @cached_property
    def ranges(self) -> list[np.ndarray]:
        """Ranges in PioSOLVER's order, for each player float64 (1326,)."""
        texts = self.nodes.rules.options["ranges"]
        return [read_range(text, POSITIONS[p])[PIOSOLVER_ORDER] for p, text in enumerate(texts)]

    @property
    def tree(self) -> PioTree:
        """Tree with the settings of the spot, and a line for each node before a showdown."""
        options = self.nodes.rules.options
        pot, stack = (Decimal(str(options[name])) for name in ("pot", "stacks"))
        rake = (float(options.get("rake", 0.0)), float(options.get("rake_cap", 1e9)))
        ranges: list[Any] = [read_range(text, "range") for text in options["ranges"]]
        return PioTree(options["board"], ranges, pot, stack, rake, self.nodes.lines())

    def root(self) -> list[str]:
        """Return the lines that describe the root."""
        first = self.nodes.describe(self.nodes.first)
        rake = "RAKE_ON " if self.nodes.rules.rake else ""
        return [ROOT, "ROOT", *first[2:4], "1 children", f"flags: ISOMORPHISM_ON {rake}PIO_CFR"]

    def range(self, player: int, place: PioNode) -> np.ndarray:
        """Return a player's range at a node, float64 (1326,)."""
        return self.nodes.spread(player, self.spot.ranges(place.line)[player])

    def strategy(self, place: PioNode) -> list[np.ndarray]:
        """Return the frequencies of each child's action, float64 (1326,)."""
        table = self.spot.table(place.line)
        free = np.flatnonzero(self.nodes.nodes.free(place.node, table.player))
        of_hands = np.zeros((len(table.actions), len(self.nodes.rules.hands[table.player])))
        of_hands[:, free] = table.strategy.T
        # Children list the actions in reverse.
        return [self.nodes.spread(table.player, row) for row in of_hands[::-1]]

    def values(self, player: int, place: PioNode, matchups: np.ndarray) -> np.ndarray:
        """Return expected values, float64 (1326,): NaN without matchups."""
        values = self.spot.values(place.line)[player] + self.nodes.rules.pot_value / 2.0
        return np.where(matchups > 0.0, self.nodes.spread(player, values, np.nan), np.nan)

    def equities(self, player: int, place: PioNode, matchups: np.ndarray) -> np.ndarray:
        """Return equities, float64 (1326,): NaN without matchups."""
        equities = self.nodes.spread(player, self.spot.equities(place.line)[player], np.nan)
        return np.where(matchups > 0.0, equities, np.nan)

    def matchups(self, player: int, place: PioNode) -> np.ndarray:
        """Return the weight of each hand times that of the opponent's hands, float64 (1326,)."""
        ranges = self.spot.ranges(place.line)
        opposing = self.nodes.nodes.opponent_weight(place.node, player, ranges)
        return self.nodes.spread(player, ranges[player] * opposing)

    def weight(self, place: PioNode) -> float:
        """Return the probability of reaching a node, up to a constant factor."""
        return float(self.matchups(0, place).sum() * self.nodes.nodes.share(place.node))

    def results(self) -> list[str]:
        """Return values, best-response values and the exploitability, as lines."""
        return _results(self.solution.evaluation, self.nodes.rules.pot_value)


class _Running:
    """A solve in a thread."""

    def __init__(self, session: UpiSession, solved: _Solved, limits: Mapping[str, Any]) -> None:
        self.session, self.solved, self.limits = session, solved, limits
        self.is_started = self.is_stopped = False
        self.reported = solved.solution.iterations
        self.thread = Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        say = self.session._say
        say(["SOLVER: started"], ended=False)
        # A solution without iterations has nothing to continue.
        start = self.solved.solution if self.solved.solution.iterations else None
        try:
            solution = solve(
                self.solved.solution.game,
                start=start,
                threads=self.session.threads,
                progress=self._report,
                **self.limits,
            )
        except Exception as error:
            say([f"SOLVER: stopped (ERROR: {' '.join(str(error).split())})"], ended=False)
            return
        self.session.solved = _Solved(solution)
        say([f"SOLVER: stopped ({REASONS.get(solution.status, 'requested')})"], ended=False)

    def _report(self, progress: Progress) -> bool:
        """Write a report if one is due, and return whether the solve is to stop."""
        every = self.session.every
        if every and progress.iteration >= self.reported + every and not self.is_stopped:
            self.reported = progress.iteration
            results = _results(progress.evaluate(), self.solved.nodes.rules.pot_value)
            self.session._say(["SOLVER:", f"running time: {progress.elapsed:.3f}", *results])
        return self.is_stopped


def _results(evaluation: Evaluation, pot: float) -> list[str]:
    """Format values, best-response values and the exploitability."""
    (oop, ip), (oop_best, ip_best) = (
        [value + pot / 2.0 for value in values]
        for values in (evaluation.values, evaluation.best_responses)
    )
    return [
        f"EV OOP: {oop:.3f}",
        f"EV IP: {ip:.3f}",
        f"OOP's MES: {oop_best:.3f}",
        f"IP's MES: {ip_best:.3f}",
        f"Exploitable for: {evaluation.exploitability:.3f}",
    ]


def _mean(numbers: np.ndarray, matchups: np.ndarray) -> float:
    """Return the mean over all hands with matchups; NaN if there are none."""
    counts = matchups > 0.0
    if not counts.any():
        return float("nan")
    return float(matchups[counts] @ numbers[counts] / matchups[counts].sum())


def _info(info: Mapping[str, str]) -> list[str]:
    """Format tree information."""
    return [f"#{key}#{value}" for key, value in info.items()]


def _numbers(numbers: np.ndarray) -> str:
    """Format numbers, separated by spaces."""
    return " ".join(f"{number:.9g}" for number in numbers.tolist())


def _count(word: str, what: str) -> int:
    """Read a whole number."""
    amount = amount_of(word, what)
    if amount % 1:
        raise ValueError(f"{what} takes a whole number, not {brief(word)}")
    return int(amount)


def _load(name: str) -> Solution:
    """Read a solution; unlike :meth:`Solution.load`, from a file of any suffix."""
    with Path(name).open("rb") as file:
        return Solution.load(file)


_WORDS = re.compile(r'"([^"]*)"|(\S+)')


def _call(method: Callable[..., list[str] | None], session: UpiSession, words: list[str]) -> Any:
    """Execute a command."""
    signature = inspect.signature(method)
    try:
        signature.bind(session, *words)
    except TypeError:
        names = [name.upper() for name in signature.parameters if name != "self"]
        raise ValueError(f"takes {' '.join(names) or 'no arguments'}") from None
    return method(session, *words)


_ACCEPTED = (
    *("set_recalc_accuracy", "set_always_recalc", "set_isomorphism", "set_algorithm"),
    *("small_strats", "set_first_iteration_player", "load_all_nodes"),
    *("rebuild_forgotten_streets", "estimate_rebuild_forgotten_streets"),
)
COMMANDS: Mapping[str, Callable[..., list[str] | None]] = {
    name: method
    for name, method in vars(UpiSession).items()
    if not name.startswith("_") and callable(method) and name not in ("run", "answer", "accept")
} | dict.fromkeys(_ACCEPTED, UpiSession.accept)
"""Methods by command, apart from those of the tree."""
NEED_REST = {
    *("build_tree", "free_tree", "load_tree", "dump_tree", "load_script", "load_script_silent"),
    *("go", "bench", "show_strategy", "show_range", "calc_ev", "calc_eq_node", "calc_results"),
    "calc_ev_pp",
    *("calc_global_freq", "show_metadata"),
}
"""Commands that are refused while the solver runs."""
