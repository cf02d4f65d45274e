"""The built-in games, by name.

Each module here holds the rules of its games; this registry maps names to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from .._util.argument_checks import brief, checks_of
from .._util.specs import parse_spec
from ..errors import GameError, Lookup, suggest
from ..rules import CardGame, Rules
from . import limit_poker, matrix
from .five_card_omaha import FiveCardOmaha
from .goofspiel import Goofspiel
from .holdem import Holdem
from .incentives import INCENTIVES, OPTION, with_incentives
from .kuhn import KuhnPoker, OneCardPoker
from .leduc import LeducPoker
from .liars_dice import Bluff, LiarsDice
from .limit_poker import FlopHoldem, LimitPoker, RhodeIsland
from .matrix import MatrixGame
from .nl_leduc import NoLimitLeduc
from .nolimit_poker import NoLimitPoker, push_or_fold
from .omaha import Omaha
from .omaha_hi_lo import OmahaHiLo
from .poker.spot import Spot
from .short_deck import ShortDeck, ShortOmaha
from .tournaments import is_tournament, make_tournament, tournament


@dataclass(frozen=True)
class GameEntry:
    """Entry of the registry."""

    name: str
    make: Callable[..., Rules]
    """Class or function that builds the rules; its keyword arguments are the game's parameters."""

    @property
    def description(self) -> str:
        """First line of the docstring of ``make``, without its verb "Return"."""
        line = (inspect.getdoc(self.make) or "").split("\n", 1)[0].rstrip(".")
        line = line.removeprefix("Return ")
        return line[:1].upper() + line[1:]

    @property
    def ranges(self) -> dict[str, str]:
        """Accepted values in words, by parameter, for parameters with a declared check."""
        make = vars(self.make)["__init__"] if isinstance(self.make, type) else self.make
        return {name: str(check) for name, (check, _) in checks_of(make).items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """Defaults by parameter, in order; ``...`` for a required parameter."""
        return _defaults(self.make)

    @property
    def is_of_cards(self) -> bool:
        """True for a :class:`~tensorcfr.CardGame`."""
        is_class = isinstance(self.make, type)
        rules: Any = self.make if is_class else get_type_hints(self.make)["return"]
        return issubclass(rules, CardGame)

    @property
    def accepted(self) -> dict[str, Any]:
        """:attr:`parameters`, ``incentives``, and in games of cards the parameters of
        :func:`~tensorcfr.games.tournaments.tournament`."""
        if not self.is_of_cards:
            return {OPTION: ()} | self.parameters
        of_tournaments = _defaults(tournament)
        # These are required in tournaments only, and the first is the game itself.
        del of_tournaments["rules"]
        return of_tournaments | {"stacks": None, OPTION: ()} | self.parameters


def _defaults(make: Callable[..., Any]) -> dict[str, Any]:
    """Return the default of each parameter, in order; ``...`` for a required parameter."""
    return {
        name: ... if parameter.default is parameter.empty else parameter.default
        for name, parameter in inspect.signature(make).parameters.items()
    }


_MAKERS: dict[str, Callable[..., Rules]] = {
    "kuhn": KuhnPoker,
    "one_card_poker": OneCardPoker,
    "leduc": LeducPoker,
    "nl_leduc": NoLimitLeduc,
    "liars_dice": LiarsDice,
    "bluff": Bluff,
    "goofspiel": Goofspiel,
    "holdem": Holdem,
    "omaha": Omaha,
    "omaha5": FiveCardOmaha,
    "omaha_hi_lo": OmahaHiLo,
    "short_deck": ShortDeck,
    "short_omaha": ShortOmaha,
    "flop_holdem": FlopHoldem,
    "turn_holdem": limit_poker.turn_holdem,
    "limit_holdem": limit_poker.limit_holdem,
    "royal_holdem": limit_poker.royal_holdem,
    "rhode_island": RhodeIsland,
    "limit_poker": LimitPoker,
    "nolimit_poker": NoLimitPoker,
    "push_or_fold": push_or_fold,
    "matrix": MatrixGame,
    "rock_paper_scissors": matrix.rock_paper_scissors,
    "rock_paper_scissors_plus": matrix.rock_paper_scissors_plus,
    "biased_rock_paper_scissors": matrix.biased_rock_paper_scissors,
    "matching_pennies": matrix.matching_pennies,
    "matching_pennies_3p": matrix.matching_pennies_3p,
    "prisoners_dilemma": matrix.prisoners_dilemma,
    "stag_hunt": matrix.stag_hunt,
    "chicken": matrix.chicken,
    "battle_of_the_sexes": matrix.battle_of_the_sexes,
    "shapleys_game": matrix.shapleys_game,
}

GAMES: dict[str, GameEntry] = Lookup(
    (name, GameEntry(name, make)) for name, make in _MAKERS.items()
)
"""The built-in games by name."""

SPOTS: dict[str, type[Spot]] = Lookup(
    (name, make)
    for name, make in _MAKERS.items()
    if isinstance(make, type) and issubclass(make, Spot)
)
"""Games with spots (positions after the flop that are solved one at a time), by name."""

_HINTS = {
    **dict.fromkeys(("plo5", "five_card_omaha"), "five-card Omaha is 'omaha5'"),
    **dict.fromkeys(("omaha8", "plo8"), "Omaha hi-lo, eight or better, is 'omaha_hi_lo'"),
}
"""Hints for names that users may try although no game has them."""


def make_game(spec: str, **parameters: Any) -> Rules:
    """Return the rules of a built-in game.

    Args:
        spec: Name of a game, ``"leduc"``, or a name with parameters,
            ``"leduc(ranks=4, suits=2)"``.
        parameters: More parameters; they take precedence over parameters in ``spec``.

    Raises:
        GameError: The game or a parameter does not exist, or the value of a parameter is invalid.
    """
    return named_game(spec, **parameters)[1]


def named_game(spec: str, **parameters: Any) -> tuple[str, Rules]:
    """Return a built-in game with all its parameters as text, and its rules; see :func:`make_game`.

    The text is that of :func:`text_of`.
    """
    try:
        name, arguments = parse_spec(spec)
    except ValueError:
        raise GameError(
            f"cannot read the game {brief(spec)}; write it as name(parameter=value, ...)"
        ) from None
    entry = GAMES.get(name)
    if entry is None and name in _HINTS:
        raise GameError(f"there is no game {brief(name)}: {_HINTS[name]}")
    if entry is None:
        raise GameError(f"there is no game {brief(name)}; {suggest(name, GAMES)}")
    arguments |= parameters
    for parameter in arguments:
        if parameter not in entry.accepted:
            raise GameError(
                f"{name} has no parameter {brief(parameter)}; {suggest(parameter, entry.accepted)}"
            )
    missing = [
        p for p, default in entry.parameters.items() if default is ... and p not in arguments
    ]
    if missing:
        raise GameError(f"{name} needs the parameter {missing[0]!r}")
    text = text_of(name, arguments)
    incentives = arguments.pop(OPTION, ())
    try:
        has_prizes = is_tournament(entry.make, arguments)
        rules = make_tournament(entry.make, arguments) if has_prizes else entry.make(**arguments)
        texts = INCENTIVES(OPTION, incentives)
        return text, with_incentives(rules, texts) if texts else rules
    except GameError:
        raise
    except ValueError as error:
        raise GameError(str(error)) from error
    except TypeError as error:
        raise GameError(f"{name} cannot take {brief(arguments)}: {error}") from error


def text_of(name: str, parameters: Mapping[str, Any]) -> str:
    """Return a built-in game with its parameters as text: ``leduc(ranks=4)``."""
    listed = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{name}({listed})" if listed else name


def make_spot(*, game: str = Holdem.game, **options: Any) -> Spot:
    """Return the rules of a spot.

    Raises:
        GameError: The game has no spots, or :func:`make_game` rejects the name or a parameter.
    """
    if game in GAMES and game not in SPOTS:
        raise GameError(f"{game} has no spots; {', '.join(SPOTS)} have them")
    rules: Any = make_game(game, **options)
    return rules


def __dir__() -> list[str]:
    return [
        "GAMES",
        "SPOTS",
        "make_game",
        "make_spot",
        *(make.__name__ for make in _MAKERS.values() if isinstance(make, type)),
    ]
