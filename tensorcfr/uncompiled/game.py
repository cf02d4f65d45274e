"""A game that is played by its rules."""

from __future__ import annotations

from typing import Any

from .._util.arguments import brief
from ..compilers.histories import check_rules
from ..errors import UnknownGameError
from ..formats.sources import FoundRules, find_rules
from ..rules import Game, Usual
from .dealt import as_histories


class UnknownRules(Game):
    """Rules that a file names and does not hold: a strategy can be read, and no game played.

    Args:
        name: Name of the game.
        n_players: Number of players.
    """

    def __init__(self, name: str, n_players: int) -> None:
        self._name, self.n_players = name, n_players

    @property
    def name(self) -> str:
        """Name of the game."""
        return self._name

    def root(self) -> Any:
        """Refuse to play.

        Raises:
            UnknownGameError: Always.
        """
        raise UnknownGameError(
            f"the rules of {brief(self._name)} are not in its file: give them, "
            "Solution.load(path, game=...), or in the call, solve(game, start=solution)"
        )

    def node(self, state: Any) -> Any:
        """Refuse to play, as :meth:`root`."""
        return self.root()


class UncompiledGame:
    """A game by its rules, with nothing in memory that grows with it.

    >>> UncompiledGame("leduc(ranks=13)")
    <UncompiledGame leduc(ranks=13): 2 players>

    Args:
        source: What :func:`tensorcfr.compile_game` takes: a name, a game of your own, a file, a
            game of OpenSpiel or pygambit.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: There is no such game.
        TypeError: This is no source of a game.
        OSError: A file cannot be read.
    """

    name: str
    """How the game was asked for."""
    rules: Game
    """The rules, history by history."""
    n_players: int
    """Number of players."""
    source: str | None
    """A text that finds the rules again; None for a game of your own."""
    unit = 1.0
    """The unit of the utilities: they are taken as they are."""
    zero_sum = None
    """Not known of rules; a compiled game has looked at all of its terminals."""
    constant_sum = None
    """Likewise."""
    is_compiled = False
    """The opposite of :attr:`tensorcfr.model.game.CompiledGame.is_compiled`."""
    layout = "rules"
    """What its solvers are found by."""
    chunks = None
    """A game that is not compiled has no chunks."""
    tied_to = None
    """And shares no strategies with another game."""
    is_of_cards = False
    """And has no hands that are known before they are met."""
    usual = Usual()
    """And no units but its own."""

    def __init__(self, source: Any, **parameters: Any) -> None:
        if isinstance(source, UncompiledGame):
            self.name, self.rules, self.source = source.name, source.rules, source.source
        else:
            found = source if isinstance(source, FoundRules) else find_rules(source, **parameters)
            self.name = found.name
            self.rules = as_histories(found.rules)
            check_rules(self.name, self.rules.n_players)
            self.source = found.source
        self.n_players = self.rules.n_players

    @property
    def digest(self) -> str:
        """What solutions compare games by: name and players, for rules cannot be compared."""
        return f"{self.name}, {self.n_players} players, not compiled"

    @property
    def caveat(self) -> str:
        """What promises about algorithms depend on here."""
        return "This holds if the sum of the utilities is constant." if self.n_players == 2 else ""

    def settled(self, number: float) -> float:
        """The number itself; compiled games know which numbers are rounding."""
        return number

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{self.__dict__.get('name', 'the game')} is not compiled and has no {name!r}; "
            "compile_game makes a game that has"
        )

    def __repr__(self) -> str:
        return f"<UncompiledGame {self.name}: {self.n_players} players>"
