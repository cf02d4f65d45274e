"""Start from nothing: a form for a spot, its size before it is built, and the solve."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Thread
from typing import Any

import numpy as np

from .._util.arguments import brief
from .._util.compiles import Compiles, compiles_seen
from .._util.specs import parse_spec
from ..analysis.hands import grid_of
from ..compilers import compile_game, game_size
from ..compilers.sizes.size import three_digits
from ..errors import format_bytes, suggest
from ..formats.sources import is_foreign
from ..games import GAMES, SPOTS, make_spot
from ..games.holdem import Holdem
from ..model.game import CompiledGame
from ..solvers.driver import solve
from .desk import EXPLOITABILITY, BusyError, Desk

PRECISION = "float32"
"""What a spot is solved in, as by the command ``spot``."""
COUNT_SECONDS = 0.5
"""Processor time in which the betting of a spot is counted while the form is filled in."""
TARGET = 0.5
"""Per cent of the pot at which a solve ends, unless the form says otherwise."""
FIELDS = ("game", *GAMES[Holdem.game].parameters)
"""What the form may say of a spot: the game and its parameters."""
SMALL = ("kuhn", "leduc", "nl_leduc", "liars_dice", "goofspiel(cards=4)", "royal_holdem")
"""Games that the page offers in place of a spot."""


class Start:
    """What the page has before there is a solution: a spot that is being built and solved."""

    def __init__(self) -> None:
        self.desk: Desk | None = None
        """The solution, once the game is compiled: at first without iterations."""
        self.error: str | None = None
        self._compiles: Compiles | None = None
        self._thread: Thread | None = None
        self._lock = Lock()

    def about(self) -> dict[str, Any]:
        """What the form offers."""
        return {
            "kind": "form",
            "title": "tensorcfr",
            "target": TARGET,
            "spots": list(SPOTS),
            "games": list(SMALL),
        }

    def range(self, text: Any, game: Any = Holdem.game) -> dict[str, Any]:
        """A range: its combos, and of hands of two cards the mean weight of each class, rows of
        thirteen.

        Raises:
            TypeError: It is no text.
            ValueError: The text is no range, or the game has no spots.
        """
        if not isinstance(text, str) or game not in SPOTS:
            raise TypeError(f"a range is a text, of {' or '.join(SPOTS)}")
        spot = SPOTS[game]
        hands = spot.every_hand()
        weights = spot.read_range(text, "range") if text.strip() else np.zeros(len(hands))
        said: dict[str, Any] = {"grid": None, "combos": float(weights.sum())}
        if hands.shape[1] == 2:
            said["grid"] = grid_of(hands).means(weights, np.ones(len(hands))).tolist()
        return said

    def size(self, options: Any) -> dict[str, Any]:
        """How large a spot is, before it is built.

        Raises:
            TypeError: The options are no mapping.
            ValueError: They are none of a spot.
        """
        rules = make_spot(**_checked(options))
        size = game_size(rules, seconds=COUNT_SECONDS)
        if not size.is_whole:
            raise ValueError(
                f"{rules.name} has more than {three_digits(size.public_nodes or 0)} public nodes; "
                "give fewer sizes"
            )
        needed = int(size.bytes_in_all(PRECISION)[1])
        return {
            "hands": [len(own) for own in rules.hands],
            "public_nodes": size.public_nodes,
            "infosets": int(size.infosets),
            "bytes": needed,
            "memory": format_bytes(needed),
            "pot": rules.pot,
        }

    def begin(self, given: Any) -> None:
        """Build a spot, or a game by its name, and solve it.

        Args:
            given: ``spot``, options of a spot, or ``game``, a name; ``iterations``,
                and ``target``, in per cent of the pot or in the game's own unit.

        Raises:
            BusyError: A game is being built.
            TypeError: Something is of another kind.
            ValueError: The spot or the game makes no sense.
        """
        if not isinstance(given, Mapping):
            raise TypeError("expected an object")
        source: Any = given.get("game")
        target = given.get("target")
        if target is not None:
            target = EXPLOITABILITY("target", target)
        if source is None:
            source = make_spot(**_checked(given.get("spot")))
            if target is not None:
                target = target / 100.0 * source.pot
        elif not isinstance(source, str):
            raise TypeError("a game is named by a text")
        elif is_foreign(source) or parse_spec(source)[0] not in GAMES:
            # A text may also be a path or another package's game: not for a page to open.
            raise ValueError(f"there is no game {brief(source)}; {suggest(source[:60], GAMES)}")
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise BusyError("a game is being built already")
            self.error = None
            arguments = source, given.get("iterations"), target
            self._thread = Thread(target=self._build, args=arguments, daemon=True)
            self._thread.start()

    def _build(self, source: Any, iterations: Any, target: Any) -> None:
        try:
            with compiles_seen() as self._compiles:
                game: CompiledGame = compile_game(source)
                cards = PRECISION if game.is_of_cards else None
                desk = Desk(solve(game, iters=0, precision=cards), precision=cards)
            desk.solve({}, iterations, target)
            if self.desk is not None:
                self.desk.stop()
            self.desk = desk
        except Exception as error:
            self.error = str(error) or type(error).__name__

    def status(self) -> dict[str, Any]:
        """Whether a game is being built, and how many kernels are being compiled for it."""
        building = self._thread is not None and self._thread.is_alive()
        compiles = self._compiles
        return {
            "building": building,
            "compiles": compiles.begun if compiles and compiles.now and building else 0,
            "ready": self.desk is not None and not building,
            "error": self.error,
        }


def _checked(options: Any) -> dict[str, Any]:
    """The options of a spot.

    Raises:
        TypeError: They are no mapping.
        ValueError: There is an option that spots do not have.
    """
    if not isinstance(options, Mapping):
        raise TypeError("a spot is an object")
    for name in options:
        if name not in FIELDS:
            raise ValueError(f"a spot has no {name!r}; {suggest(name, FIELDS)}")
    for name in ("board", "ranges", "pot", "stacks"):
        if options.get(name) in (None, "", ["", ""]):
            raise ValueError(f"the spot needs {name}")
    return dict(options)
