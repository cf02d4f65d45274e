"""Games that are played by their rules."""

from __future__ import annotations

from typing import Any

from .._util.argument_checks import brief
from ..compilers.dealt_rules import as_histories
from ..compilers.history_reader import check_rules
from ..errors import UnknownGameError
from ..formats.game_sources import ResolvedRules, resolve_rules
from ..model.layout import Layout
from ..model.solvable_game import SolvableGame
from ..rules import Game


class UnknownRules(Game):
    """Placeholder for rules that a file names but does not contain.

    A strategy can be read from the file, but the game cannot be played.

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
            f"the rules of {brief(self._name)} are not in its file: pass the game to "
            "Solution.load(path, game=...) or to solve(game, start=solution)"
        )

    def node(self, state: Any) -> Any:
        """Refuse to play; see :meth:`root`."""
        return self.root()


class UncompiledGame(SolvableGame):
    """Game that is given by its rules; its memory does not depend on the size of the game.

    >>> UncompiledGame("leduc(ranks=13)")
    <UncompiledGame leduc(ranks=13): 2 players>

    Args:
        source: A source that :func:`tensorcfr.compile_game` takes: a name, a game of your own, a
            file, or a game of OpenSpiel or pygambit.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: There is no such game.
        TypeError: The source has none of these forms.
        OSError: A file cannot be read.
    """

    name: str
    """Name with which the game was requested."""
    rules: Game
    """Rules as a game of histories."""
    n_players: int
    """Number of players."""
    source: str | None
    """Text from which the rules can be found again; None for a game of your own."""
    unit = 1.0
    """Unit of the utilities: they are not rescaled."""
    zero_sum = None
    """Unknown, because no terminals were enumerated; a compiled game knows it."""
    constant_sum = None
    """Unknown, because no terminals were enumerated."""
    layout = Layout.RULES

    def __init__(self, source: Any, **parameters: Any) -> None:
        if isinstance(source, UncompiledGame):
            self.name, self.rules, self.source = source.name, source.rules, source.source
        else:
            found_rules = (
                source if isinstance(source, ResolvedRules) else resolve_rules(source, **parameters)
            )
            self.name = found_rules.name
            self.rules = as_histories(found_rules.rules)
            check_rules(self.name, self.rules.n_players)
            self.source = found_rules.source
        self.n_players = self.rules.n_players

    @property
    def digest(self) -> str:
        """Text by which solutions compare games: the name and the number of players, because rules
        cannot be compared."""
        return f"{self.name}, {self.n_players} players, not compiled"

    @property
    def caveat(self) -> str:
        """Condition for the guarantees of algorithms in this game."""
        return "This holds if the sum of the utilities is constant." if self.n_players == 2 else ""

    def round_to_zero(self, number: float) -> float:
        """Return the number unchanged; a compiled game rounds numbers near 0 to 0."""
        return number

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{self.__dict__.get('name', 'the game')} is not compiled and has no {name!r}; "
            "compile it with compile_game"
        )

    def __repr__(self) -> str:
        return f"<UncompiledGame {self.name}: {self.n_players} players>"
