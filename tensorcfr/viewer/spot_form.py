"""Start without a solution: a form for a spot, the spot's size, and its solve."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Thread
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from .._util.compiles import Compiles, compiles_seen
from .._util.specs import parse_spec
from ..analysis.hand_tables import grid_of
from ..compilers import compile_game, game_size
from ..compilers.sizes.size import three_digits
from ..errors import format_bytes, suggest
from ..formats.game_sources import is_foreign
from ..games import GAMES, SPOTS, make_spot
from ..games.holdem import Holdem
from ..games.tournaments import read_amounts
from ..model.compiled_game import CompiledGame
from ..solvers.driver import solve
from .busy import BusyError
from .card_nodes import tournament_facts
from .session import EXPLOITABILITY, Session

PRECISION = "float32"
"""Precision in which a spot is solved, as by the command ``spot``."""
COUNT_SECONDS = 0.5
"""Limit of the processor time for counting the betting of a spot while the form is filled in."""
TARGET = 0.5
"""Default target of a solve, in per cent of the pot."""
FIELDS = ("game", *(name for name in GAMES[Holdem.game].accepted if name != "utility"))
"""Fields of a spot in the form: the game and its parameters, but no functions."""
SMALL = ("kuhn", "leduc", "nl_leduc", "liars_dice", "goofspiel(cards=4)", "royal_holdem")
"""Games that the page offers in place of a spot."""


class SpotForm:
    """State of the page before there is a solution: a spot that is being built and solved."""

    def __init__(self) -> None:
        self.session: Session | None = None
        """Session with the solution, which at first has no iterations; None until the game is
        compiled."""
        self.error: str | None = None
        self._compiles: Compiles | None = None
        self._thread: Thread | None = None
        self._lock = Lock()

    def about(self) -> dict[str, Any]:
        """Return the choices of the form."""
        return {
            "kind": "form",
            "title": "tensorcfr",
            "target": TARGET,
            "spots": list(SPOTS),
            "games": list(SMALL),
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

    def size(self, options: Any) -> dict[str, Any]:
        """Return the size of a spot before it is built.

        Raises:
            TypeError: The options are not a mapping.
            ValueError: An option is unknown, missing or invalid, or the spot is too large to count.
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
            "hands": [len(hands) for hands in rules.hands],
            "public_nodes": size.public_nodes,
            "infosets": int(size.infosets),
            "bytes": needed,
            "memory": format_bytes(needed),
            "pot": rules.pot,
            "tournament": tournament_facts(rules),
        }

    def begin(self, request: Any) -> None:
        """Build a spot, or a game by its name, and solve it.

        Args:
            request: Mapping with ``spot``, the options of a spot, or ``game``, a name;
                ``iterations``, and ``target``, in per cent of the pot or in the game's own unit.

        Raises:
            BusyError: A game is being built.
            TypeError: ``request`` or one of its values has a wrong type.
            ValueError: The spot, the game or the target is invalid.
        """
        if not isinstance(request, Mapping):
            raise TypeError("expected an object")
        source: Any = request.get("game")
        target = request.get("target")
        if target is not None:
            target = EXPLOITABILITY("target", target)
        if source is None:
            source = make_spot(**_checked(request.get("spot")))
            if target is not None:
                target = target / 100.0 * source.pot_value
        elif not isinstance(source, str):
            raise TypeError("the name of a game must be a text")
        elif is_foreign(source) or parse_spec(source)[0] not in GAMES:
            # A text may also be a path or a game of another package, which a page must not open.
            raise ValueError(f"there is no game {brief(source)}; {suggest(source[:60], GAMES)}")
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise BusyError("a game is being built already")
            self.error = None
            arguments = source, request.get("iterations"), target
            self._thread = Thread(target=self._build, args=arguments, daemon=True)
            self._thread.start()

    def _build(self, source: Any, iterations: Any, target: Any) -> None:
        try:
            with compiles_seen() as self._compiles:
                game: CompiledGame = compile_game(source)
                cards = PRECISION if game.is_of_cards else None
                session = Session(solve(game, iters=0, precision=cards), precision=cards)
            session.solve({}, iterations, target)
            if self.session is not None:
                self.session.stop()
            self.session = session
        except Exception as error:
            self.error = str(error) or type(error).__name__

    def status(self) -> dict[str, Any]:
        """Return whether a game is being built, and the number of kernels being compiled for it."""
        building = self._thread is not None and self._thread.is_alive()
        compiles = self._compiles
        return {
            "building": building,
            "compiles": compiles.begun if compiles and compiles.now and building else 0,
            "ready": self.session is not None and not building,
            "error": self.error,
        }


def _checked(options: Any) -> dict[str, Any]:
    """Return the options of a spot.

    Raises:
        TypeError: The options are not a mapping.
        ValueError: An option is unknown or missing, or a part of an amount is not a number.
    """
    if not isinstance(options, Mapping):
        raise TypeError("the spot must be an object")
    for name in options:
        if name not in FIELDS:
            raise ValueError(f"a spot has no {name!r}; {suggest(name, FIELDS)}")
    for name in ("board", "ranges", "pot", "stacks"):
        if options.get(name) in (None, "", ["", ""]):
            raise ValueError(f"the spot has no {name}")
    # Fields that are left empty have their defaults.
    return read_amounts({name: value for name, value in options.items() if value != ""})
