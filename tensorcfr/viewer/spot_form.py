"""Start of the page: a form for a spot, its size, its solve, and the library of the user."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from .._util.compiles import Compiles
from .._util.hardware import available_cores
from .._util.memory_budget import free_memory
from .._util.specs import parse_spec
from ..analysis.hand_tables import grid_of
from ..compilers import GameSize, compile_game, game_size
from ..compilers.sizes.size import CHUNK_BYTES, three_digits
from ..errors import format_bytes, suggest
from ..formats.game_sources import is_foreign
from ..formats.other_spots import ENDINGS, options_of_text
from ..formats.spot_files import spot_text
from ..games import GAMES, SPOTS
from ..games.holdem import Holdem
from ..games.poker.spot import Spot
from ..model.compiled_game import CompiledGame
from ..solvers import solver_arguments
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .busy import BusyError
from .card_nodes import tournament_facts
from .form_fields import SEATS, fields_of, spot_of, tree_at
from .library import Library
from .reports import EXPLOITABILITY, TARGET
from .session import Session

PRECISION = "float32"
"""Default precision in which a spot is solved, as by the command ``spot``."""
COUNT_SECONDS = 0.5
"""Limit of the processor time for counting the betting of a spot while the form is filled in."""
SMALL = ("kuhn", "leduc", "nl_leduc", "liars_dice", "goofspiel(cards=4)", "royal_holdem")
"""Games that the page offers in place of a spot."""


class CancelledError(BaseException):
    """Cancellation of a build, raised in the thread that builds, as Ctrl-C in the main thread."""


class SpotForm:
    """State of the page apart from its solutions: a game that is being built, and the library.

    Args:
        session: Session that is shown at first; None for the form.
        library: Library of the user; None if nothing can be saved.
    """

    def __init__(self, session: Session | None = None, library: Library | None = None) -> None:
        self.library = library
        self.session: Session | None = None
        """Session with the solution, which at first has no iterations; None until the game is
        compiled."""
        if session is not None:
            self._take(session)
        self.view: Mapping[str, Any] = {}
        """State of the page that shows the session: its address and its locks."""
        self.compiles = Compiles()
        """Counts of the kernels that this process compiles, while a server runs."""
        self.error: str | None = None
        self._work = ""
        self._is_cancelled = False
        self._thread: Thread | None = None
        self._lock = Lock()

    def about(self) -> dict[str, Any]:
        """Return the choices of the form, the entries of the library, and the state of the page."""
        library = self.library
        return {
            "kind": "form",
            "title": "tensorcfr",
            "target": TARGET,
            "spots": {name: spot.examples for name, spot in SPOTS.items()},
            "seats": SEATS,
            "games": list(SMALL),
            "precisions": list(CHUNK_BYTES),
            "cores": available_cores(),
            "library": None if library is None else library.about(),
            "page": {} if library is None else library.page(),
        }

    def range(self, text: Any, game: Any = Holdem.game) -> dict[str, Any]:
        """Return the combos of a range and, for hands of two cards, the mean weight of each class.

        The weights are rows of the 13 x 13 grid.

        Raises:
            TypeError: The range is not a text, or the game has no spots.
            ValueError: The text is not a range.
        """
        if not isinstance(text, str) or game not in SPOTS:
            raise TypeError(f"a range must be a text, and its game {' or '.join(SPOTS)}")
        spot = SPOTS[game]
        hands = spot.every_hand()
        weights = spot.read_range(text, "range") if text.strip() else np.zeros(len(hands))
        summary: dict[str, Any] = {"grid": None, "combos": float(weights.sum())}
        if hands.shape[1] == 2:
            summary["grid"] = grid_of(hands).means(weights, np.ones(len(hands))).tolist()
        return summary

    def size(self, options: Any, precision: Any = PRECISION) -> dict[str, Any]:
        """Return the size of a spot before it is built.

        Raises:
            TypeError: The options are not a mapping.
            ValueError: An option is unknown, missing or invalid, or the spot is too large to count.
            MemoryError: The spot does not fit into the free memory.
        """
        rules = spot_of(options)
        # A build drops these solutions first.
        spare = 0 if self.session is None else self.session.reports.nbytes
        size, needed = _fitting(rules, _precision(precision), spare)
        return {
            "hands": [len(hands) for hands in rules.hands],
            "public_nodes": size.public_nodes,
            "infosets": int(size.infosets),
            "bytes": needed,
            "memory": format_bytes(needed),
            "chip": rules.options.get("chip", 1),
            "pot": rules.pot,
            "tournament": tournament_facts(rules),
        }

    def tree(self, options: Any, line: Any, size: Any = "") -> dict[str, Any]:
        """Return the actions of a spot at a line; see :func:`tree_at`."""
        return tree_at(spot_of(options), line, size)

    def read(self, text: Any, name: Any = "") -> dict[str, Any]:
        """Return the fields of the form for a spot in a text of this or of another program.

        Args:
            text: The text.
            name: Name of the file that it comes from, or empty.

        Raises:
            TypeError: The text or the name is not a text.
            ValueError: The text has no known format.
        """
        if not isinstance(text, str) or not isinstance(name, str):
            raise TypeError("a spot must be a text")
        suffix = next((ending for ending in ENDINGS if name.lower().endswith(ending)), "")
        named = name[:100] or "the text"
        return {"fields": fields_of(options_of_text(text, named, suffix=suffix))}

    # ------------------------------------------------------------------------------------ building

    def begin(self, request: Any) -> None:
        """Build a spot, or a game by its name, and solve it.

        Args:
            request: Mapping with ``spot``, the options of a spot, or ``game``, a name. It has
                ``iterations``, and may have ``target``, in per cent of the pot or in the game's own
                unit, ``precision`` and ``threads``. With ``build_only`` the user solves it later,
                for example with locks. The ``fields`` of the form are remembered.

        Raises:
            BusyError: A game is being built.
            TypeError: ``request`` or one of its values has a wrong type.
            ValueError: The spot, the game, the target, the precision or the threads are invalid.
            MemoryError: The spot does not fit into the free memory.
        """
        if not isinstance(request, Mapping):
            raise TypeError("expected an object")
        source: Any = request.get("game")
        target = request.get("target")
        if target is not None:
            target = EXPLOITABILITY("target", target)
        threads = _threads(request.get("threads"))
        precision = _precision(request.get("precision"))
        if source is None:
            source = spot_of(request.get("spot"))
            if self.session is not None:  # Solutions of boards must not take its memory.
                self.session.reports.forget()
            _fitting(source, precision)
            if target is not None:
                target = target / 100.0 * source.pot_value
        elif not isinstance(source, str):
            raise TypeError("the name of a game must be a text")
        elif is_foreign(source) or parse_spec(source)[0] not in GAMES:
            # A text may also be a path or a game of another package, which a page must not open.
            raise ValueError(f"there is no game {brief(source)}; {suggest(source[:60], GAMES)}")
        fields = request.get("fields")
        if self.library is not None and isinstance(fields, Mapping):
            with suppress(OSError, ValueError):  # A folder that is full must not stop a solve.
                self.library.remember(fields)
        arguments = source, request.get("iterations"), target, precision, threads
        build_only = request.get("build_only") is True
        self._start("building the game", self._build, *arguments, not build_only)

    def _start(
        self,
        work: str,
        target: Callable[..., tuple[Session, Mapping[str, Any]]],
        *arguments: Any,
    ) -> None:
        """Run work in a thread; its result becomes the session, with the state of its page."""

        def run() -> None:
            try:
                session, view = target(*arguments)
                if self._is_cancelled:
                    session.stop()
                    return
                if self.session is not None and self.session is not session:
                    self.session.stop()
                    self.session.reports.drop()
                self._take(session)
                self.view = view
            except CancelledError:
                pass
            except Exception as error:
                # An error that follows from the cancellation does not matter.
                self.error = None if self._is_cancelled else str(error) or type(error).__name__

        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise BusyError("a game is being built already")
            self.error, self._work, self._is_cancelled = None, work, False
            self._thread = Thread(target=run, daemon=True)
            self._thread.start()

    def _build(
        self,
        source: Any,
        iterations: Any,
        target: float | None,
        precision: str,
        threads: int | str,
        and_solve: bool,
    ) -> tuple[Session, Mapping[str, Any]]:
        options: dict[str, Any] = {}
        if isinstance(source, Spot):  # By name, so that files of its solutions can compile it.
            source, options = source.game, source.options
        game: CompiledGame = compile_game(source, **options)
        cards = precision if game.is_of_cards else None
        first = solve(game, iters=0, precision=cards)
        session = Session(first, precision=cards, threads=threads)
        session.planned = iterations if type(iterations) is int else None
        session.target = target
        if and_solve and not self._is_cancelled:
            session.solve({}, iterations, target)
        return session, {}

    def _take(self, session: Session) -> None:
        """Show a session, whose plays and reports are saved in the folder of the library."""
        session.folder = None if self.library is None else self.library.folder
        self.session = session

    def cancel(self) -> None:
        """Cancel the build; its thread ends within a step of its work."""
        thread = self._thread
        if thread is not None and thread.is_alive() and thread.ident is not None:
            self._is_cancelled = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(CancelledError)
            )

    def status(self) -> dict[str, Any]:
        """Return whether a game is being built, and the number of kernels being compiled."""
        building = self._thread is not None and self._thread.is_alive()
        return {
            "building": building,
            "work": self._work if building else "",
            "cancelled": self._is_cancelled,
            "compiles": self.compiles.shown,
            "ready": self.session is not None and not building,
            "error": self.error,
            "view": self.view,
        }

    # ------------------------------------------------------------------------------------- library

    def _library(self) -> Library:
        """Return the library."""
        if self.library is None:
            raise ValueError("this viewer has no folder to save in")
        return self.library

    def save(self, request: Any) -> dict[str, Any]:
        """Save a range, a spot or a solution under a name.

        Args:
            request: Mapping with ``kind``, ``name`` and ``force``, True to replace an entry. A
                range has ``text``, and a spot ``spot``, its options. A solution has ``solution``,
                its number, and ``view``, the state of the page.

        Returns:
            The ``path`` of the file and the library; or ``exists``, True if the name exists.

        Raises:
            BusyError: The solution is still being solved.
            OSError: The file cannot be written.
            TypeError: A value has a wrong type.
            ValueError: The name is not allowed.
        """
        library = self._library()
        kind, name, force = request.get("kind"), request.get("name"), request.get("force") is True
        if not force and library.path(kind, name).exists():
            return {"exists": True}
        if kind == "solutions":
            view = _view_of(request.get("view"))
            path = self._save_solution(request, library.target(kind, name, force=force))
            library.keep_page(view, name)
        else:
            text = request.get("text")
            if kind == "spots":
                text = spot_text(spot_of(request.get("spot")))
            elif not isinstance(text, str):
                raise TypeError("a range must be a text")
            path = library.write(kind, name, text, force=force)
        return {"path": str(path), "library": library.about()}

    def _save_solution(self, request: Any, path: Path) -> Path:
        """Save a solution of the session to a file, and return its path."""
        session, number = self.session, request.get("solution", 0)
        if session is None or type(number) is not int or not 0 <= number < len(session.solutions):
            raise ValueError(f"there is no solution {brief(number)}")
        if session.is_running:
            raise BusyError("the solve is running: stop it, or save when it has ended")
        values = session.solutions[number]
        if values.response is not None:
            raise ValueError(
                "a response is not a solution: the command 'tensorcfr respond --output' writes it"
            )
        saved = values.solution.save(path, force=True)
        values.is_new = False
        return saved

    def open(self, request: Any) -> dict[str, Any]:
        """Open an entry of the library.

        Args:
            request: Mapping with ``kind`` and ``name``; ``second`` is True to show a solution next
                to the first one.

        Returns:
            The ``text`` of a range, or the ``fields`` of a spot; nothing for a solution, which is
            read in the background.

        Raises:
            BusyError: A game is being built, or a solve is running.
            ValueError: There is no such entry, or it cannot be read.
        """
        library = self._library()
        kind, name = request.get("kind"), request.get("name")
        if kind != "solutions":
            text = library.read(kind, name)
            return {"text": text} if kind == "ranges" else self.read(text, f"{name}.toml")
        path, view = library.existing(kind, name), _kept_view(library, name)
        session = self.session if request.get("second") is True else None

        def read() -> tuple[Session, Mapping[str, Any]]:
            solution = Solution.load(path, registered=False)
            if session is not None:
                session.compare(solution)
                return session, self.view
            return Session(solution), view

        self._start(f"reading {name}", read)
        return {}

    def remove(self, request: Any) -> dict[str, Any]:
        """Remove an entry of the library; see :meth:`Library.remove`."""
        library = self._library()
        library.remove(request.get("kind"), request.get("name"))
        return {"library": library.about()}

    def fields(self) -> dict[str, Any]:
        """Return the fields of the form for the spot on the page; none for other games."""
        rules = None if self.session is None else self.session.rules
        if not isinstance(rules, Spot):
            return {"fields": None}
        return {"fields": fields_of({"game": rules.game} | rules.options)}

    def keep_page(self, request: Any) -> dict[str, Any]:
        """Keep the state of the page: ``form``, the fields, and ``view``, its address and locks."""
        form = request.get("form")
        if isinstance(form, Mapping) and self.library is not None:
            with suppress(OSError):  # The page asks for this while the user types.
                self.library.change_page(form=dict(form))
        if request.get("view") is not None:
            self.view = _view_of(request["view"])
        return {}

    def finish(self) -> list[Path]:
        """Stop the solve, and keep the solutions that have not been saved in the library.

        Returns:
            The paths of the files.

        Raises:
            OSError: A file cannot be written.
        """
        self.cancel()
        if self._thread is not None:
            self._thread.join()
        if self.session is None:
            return []
        self.session.finish()
        if self.library is None or not any(values.is_new for values in self.session.solutions):
            return []
        shown = self.session.solutions
        solutions = [values.solution for values in shown if values.response is None]
        return self.library.keep_solutions(solutions, self.view)


def _view_of(view: Any) -> dict[str, Any]:
    """Return the state of a page: the fragment of its address, and its locks."""
    if not isinstance(view, Mapping):
        raise TypeError("the state of the page must be an object")
    address, locks = view.get("address", ""), view.get("locks", {})
    is_fragment = isinstance(address, str) and (not address or address.startswith("#"))
    if not is_fragment or not isinstance(locks, Mapping):
        raise TypeError("the state of the page must be an object with an address and locks")
    for lock in locks.values():
        if not isinstance(lock, Mapping) or not {*map(type, lock.values())} <= {int, float}:
            raise TypeError("a lock on the page must have a number for each action")
    return {"address": address, "locks": locks}


def _kept_view(library: Library, name: str) -> dict[str, Any]:
    """Return the state of the page that was saved with a solution; empty if it is damaged."""
    with suppress(TypeError):
        return _view_of(library.page(name))
    return {}


def _precision(precision: Any) -> str:
    """Return the precision of a solve; by default :data:`PRECISION`."""
    checked: str = solver_arguments.PRECISION(
        "precision", PRECISION if precision is None else precision
    )
    return checked


def _threads(threads: Any) -> int | str:
    """Return the number of threads of a solve; by default as many as help."""
    checked: int | str = solver_arguments.THREADS_OR_AUTO(
        "threads", solver_arguments.AUTO if threads is None else threads
    )
    return checked


def _fitting(rules: Spot, precision: str, spare: int = 0) -> tuple[GameSize, int]:
    """Return the size of a spot, and the bytes to build and solve it."""
    size = game_size(rules, seconds=COUNT_SECONDS)
    if not size.is_whole:
        raise ValueError(
            f"{rules.name} has more than {three_digits(size.public_nodes or 0)} public nodes; "
            "give fewer sizes"
        )
    needed = {name: int(size.bytes_in_all(name)[1]) for name in CHUNK_BYTES}
    if needed[precision] > (free := free_memory() + spare):
        fits = needed["int16"] <= free
        remedy = "choose the precision int16" if fits else "give fewer sizes or smaller ranges"
        raise MemoryError(
            f"{rules.name} needs about {format_bytes(needed[precision])} to build and solve, and "
            f"{format_bytes(free)} are free: {remedy}"
        )
    return size, needed[precision]
