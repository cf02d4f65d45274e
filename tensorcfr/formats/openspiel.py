"""Games of OpenSpiel (Lanctot et al., 2019, https://arxiv.org/abs/1908.09453) as rules.

Labels are OpenSpiel's strings:

* The label of an infoset is ``state.information_state_string(player)``.  OpenSpiel distinguishes
  infosets by player *and* string, this library only by label.  If two players share a string (in
  ``phantom_ttt`` both see the same empty board), the first player visited keeps it, and for the
  other one it ends in the player's number, ``" (player 1)"``.
* The label of an action or chance outcome is ``state.action_to_string(player, action)``.  If an
  infoset or a chance node has a name twice, each of its names is followed by the action's number.

Perfect recall is checked when the game is compiled, as for every game.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

from .._util.extras import needs
from ..errors import GameError
from ..rules import Chance, Decision, Game, Terminal
from .universal_poker import poker_of

PYSPIEL = ("pyspiel", "openspiel", "open_spiel")
"""Module, extra and package of OpenSpiel."""
CHANCE_PLAYER = -1
"""Result of ``state.current_player()`` at a chance node (``pyspiel.PlayerId.CHANCE``)."""
TERMINAL_PLAYER = -4
"""Result of ``state.current_player()`` at a terminal (``pyspiel.PlayerId.TERMINAL``)."""


class Action(str):
    """Label of an action or chance outcome, with OpenSpiel's number of it."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, label: str, number: int) -> Action:
        """Create an action that is equal to its label."""
        action = super().__new__(cls, label)
        action.number = number
        return action


def read_openspiel(game: Any) -> OpenSpielGame | str:
    """Return the rules of a game of OpenSpiel, or a built-in game that has the same rules, as text.

    Args:
        game: As for :class:`OpenSpielGame`.
    """
    return poker_of(str(game)) or OpenSpielGame(game)


class OpenSpielGame(Game):
    """Game of OpenSpiel.

    A simultaneous-move game is converted to a turn-based one: the players of a joint move choose
    one after the other, without seeing the choices of the others.

    Args:
        game: A ``pyspiel.Game``, or a string that ``pyspiel.load_game`` accepts, such as
            ``"leduc_poker(players=3)"``.

    Raises:
        GameError: OpenSpiel does not know the game, or its histories cannot be enumerated (sampled
            chance, mean field, no information state strings).
        MissingExtraError: OpenSpiel is not installed; names the command that installs it.
    """

    def __init__(self, game: Any) -> None:
        pyspiel = needs(*PYSPIEL)
        if isinstance(game, str):
            self._text = game
            game = _load(pyspiel, game)
        else:
            self._text = str(game).removesuffix("()")
        kind = game.get_type()
        _refuse_unlistable(pyspiel, kind, self._text)
        if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            game = pyspiel.convert_to_turn_based(game)
        self.game = game
        """Turn-based ``pyspiel.Game`` whose histories are enumerated."""
        self.n_players = game.num_players()
        # Decisions by player and string.  OpenSpiel is asked for names once per infoset instead of
        # once per history, and all histories of an infoset return the same tuples.
        self._decisions: list[dict[str, tuple[list[int], Decision]]] = [
            {} for _ in range(self.n_players)
        ]
        self._labels: set[str] = set()
        # Equal lists of legal actions are stored once; they would be most of an infoset's memory.
        self._shared: dict[tuple[Any, ...], tuple[list[int], tuple[Action, ...]]] = {}
        self._terminals: dict[tuple[float, ...], Terminal] = {}

    def __copy__(self) -> OpenSpielGame:
        """Return the same game without cached infosets."""
        return OpenSpielGame(self.game)

    @property
    def name(self) -> str:
        """``openspiel:`` and OpenSpiel's string.

        :func:`tensorcfr.compile_game` reads it back if ``pyspiel.load_game`` accepts the string.
        """
        return f"openspiel:{self._text}"

    @property
    def text(self) -> str | None:
        """Text from which :func:`read_openspiel` makes these rules; None if it makes others."""
        return self.name if poker_of(self._text) is None else None

    def root(self) -> Any:
        """Return OpenSpiel's initial state."""
        return self.game.new_initial_state()

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the decision, chance node or terminal at a ``pyspiel.State``."""
        # Calls into OpenSpiel take most of the time of a compile, so make as few as possible.
        player: int = state.current_player()
        if player >= 0:
            text: str = state.information_state_string(player)
            legal = state.legal_actions()
            known = self._decisions[player].get(text)
            if known is None:
                return self._add_infoset(state, player, text, legal)
            if known[0] == legal:
                return known[1]
            # Histories of an infoset differ in their actions.  Return both tuples, so that the
            # compiler can raise an error that names the history.
            return known[1]._replace(actions=_name(state, player, legal))
        if player == TERMINAL_PLAYER:
            utilities: tuple[float, ...] = tuple(state.returns())
            terminal = self._terminals.get(utilities)
            if terminal is None:
                terminal = self._terminals[utilities] = Terminal(utilities)
            return terminal
        if player == CHANCE_PLAYER:
            numbers, probabilities = zip(*state.chance_outcomes(), strict=True)
            names = _name(state, player, numbers)
            return Chance(dict(zip(names, probabilities, strict=True)))
        raise GameError(
            f"{self.name}: OpenSpiel reports that player {player} acts at history "
            f"{state.history()}; only players, chance and terminals can be compiled"
        )

    def next(self, state: Any, action: Action) -> Any:
        """Return the state after an action or a chance outcome; ``state`` is unchanged."""
        return state.child(action.number)

    def advance(self, state: Any, action: Action) -> Any:
        """Change ``state`` to the state after an action, and return it.

        A copy as in :meth:`next` takes longer than the action, and two kilobytes.
        """
        state.apply_action(action.number)
        return state

    def _add_infoset(self, state: Any, player: int, text: str, legal: list[int]) -> Decision:
        """Name an infoset and its actions, at the first of its histories."""
        label = text
        while label in self._labels:
            label += f" (player {player})"
        self._labels.add(label)
        names = [state.action_to_string(player, number) for number in legal]
        key = (*legal, *names)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = legal, _label(names, legal)
        legal, actions = shared
        decision = Decision(player, label, actions)
        self._decisions[player][text] = legal, decision
        return decision


def _load(pyspiel: Any, text: str) -> Any:
    """Call ``pyspiel.load_game``, with errors of one line."""
    if text.startswith("python_"):
        # OpenSpiel's games written in Python are registered by importing them.
        importlib.import_module("open_spiel.python.games")
    name, known = text.partition("(")[0], pyspiel.registered_names()
    if name not in known:
        # OpenSpiel's error would list the names of all its games.
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "pyspiel.registered_names() has them"
        raise GameError(f"OpenSpiel has no game {name!r}; {hint}")
    try:
        return pyspiel.load_game(text)
    except (pyspiel.SpielError, IndexError) as error:  # IndexError: a missing "filename", say
        reason = str(error).partition("\n")[0].removesuffix(" Available games are:")
        raise GameError(f"OpenSpiel cannot load {text!r}: {reason}") from error


def _refuse_unlistable(pyspiel: Any, kind: Any, text: str) -> None:
    """Raise GameError if a game's histories cannot be enumerated or its infosets have no names."""
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameError(f"OpenSpiel's {text!r} is a mean-field game; it has no history tree")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(
            f"OpenSpiel's {text!r} only samples its chance outcomes and does not list them with "
            "their probabilities"
        )
    if not kind.provides_information_state_string:
        raise GameError(
            f"OpenSpiel's {text!r} has no information state strings, so its infosets are unknown"
        )


def _name(state: Any, player: int, numbers: Sequence[int]) -> tuple[Action, ...]:
    """Return the actions or chance outcomes of a state."""
    return _label([state.action_to_string(player, number) for number in numbers], numbers)


def _label(names: Sequence[str], numbers: Sequence[int]) -> tuple[Action, ...]:
    """Return actions or outcomes with OpenSpiel's names and numbers, and unique labels."""
    if len(set(names)) < len(names):
        # Number all names, because an unchanged one could equal another one with its number.
        names = [f"{name} {number}" for name, number in zip(names, numbers, strict=True)]
    return tuple(map(Action, names, numbers))
