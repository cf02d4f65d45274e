"""Games of OpenSpiel (Lanctot et al., 2019, https://arxiv.org/abs/1908.09453) as rules.

The labels are OpenSpiel's own strings:

* an infoset is ``state.information_state_string(player)``.  OpenSpiel tells infosets apart by
  player *and* string, this library by label alone, so a string that two players share (in
  ``phantom_ttt`` both see the same empty board) stays as it is for the player who is met with
  it first, and ends in the other player's number, ``" (player 1)"``, for the other;
* an action or chance outcome is ``state.action_to_string(player, action)``.  Where an infoset
  or a chance node has a name twice, each of its names is followed by the action's number.

Perfect recall is not taken on trust: it is checked where every game's is, when compiling.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

from .._util.extras import needs
from ..errors import GameError
from ..rules import Chance, Decision, Game, Terminal

PYSPIEL = ("pyspiel", "openspiel", "open_spiel")
"""The module, the extra and the package of OpenSpiel."""
CHANCE_PLAYER = -1
"""``state.current_player()`` at a chance node (``pyspiel.PlayerId.CHANCE``)."""
TERMINAL_PLAYER = -4
"""``state.current_player()`` where the game is over (``pyspiel.PlayerId.TERMINAL``)."""


class Action(str):
    """The label of an action or chance outcome, and the number that OpenSpiel knows it by."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, label: str, number: int) -> Action:
        """An action that is equal to its label."""
        action = super().__new__(cls, label)
        action.number = number
        return action


class OpenSpielGame(Game):
    """A game of OpenSpiel.

    A simultaneous-move game is made turn-based: the players of a joint move choose one after
    the other, unseen.

    Args:
        game: A ``pyspiel.Game``, or a string that ``pyspiel.load_game`` understands, such as
            ``"leduc_poker(players=3)"``.

    Raises:
        GameError: OpenSpiel does not know the game, or the game cannot be walked history by
            history (sampled chance, mean field, no information state strings).
        MissingExtraError: OpenSpiel is not installed; says what installs it.
    """

    def __init__(self, game: Any) -> None:
        pyspiel = needs(*PYSPIEL)
        if isinstance(game, str):
            self._text = game
            game = _load(pyspiel, game)
        else:
            self._text = str(game).removesuffix("()")
        kind = game.get_type()
        _refuse_unwalkable(pyspiel, kind, self._text)
        if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            game = pyspiel.convert_to_turn_based(game)
        self.game = game
        """The ``pyspiel.Game`` that is walked: turn-based."""
        self.n_players = game.num_players()
        # What has been met, so that OpenSpiel is asked for names once per infoset and not once
        # per history, and so that all histories of an infoset return the very same tuples.
        self._decisions: list[dict[str, tuple[list[int], Decision]]] = [
            {} for _ in range(self.n_players)
        ]
        self._labels: set[str] = set()
        # Equal lists of legal actions with equal names, each kept once: most of the memory that an
        # infoset would take.
        self._shared: dict[tuple[Any, ...], tuple[list[int], tuple[Action, ...]]] = {}
        self._terminals: dict[tuple[float, ...], Terminal] = {}

    def __copy__(self) -> OpenSpielGame:
        """The same game, of which nothing has been met."""
        return OpenSpielGame(self.game)

    @property
    def name(self) -> str:
        """``openspiel:`` and OpenSpiel's string; :func:`tensorcfr.compile_game` reads it back, if
        ``pyspiel.load_game`` does."""
        return f"openspiel:{self._text}"

    def root(self) -> Any:
        """OpenSpiel's initial state."""
        return self.game.new_initial_state()

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """What is at a ``pyspiel.State``."""
        # Calls into OpenSpiel are most of the time of a compile: ask as little as possible.
        player: int = state.current_player()
        if player >= 0:
            text: str = state.information_state_string(player)
            legal = state.legal_actions()
            known = self._decisions[player].get(text)
            if known is None:
                return self._meet(state, player, text, legal)
            if known[0] == legal:
                return known[1]
            # The walker says which history broke the contract; it needs to see both tuples.
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
            f"{self.name}: OpenSpiel says that player {player} acts at history {state.history()}; "
            "only players, chance and the end can be compiled"
        )

    def next(self, state: Any, action: Action) -> Any:
        """The state after an action or a chance outcome; ``state`` is left as it is."""
        return state.child(action.number)

    def advance(self, state: Any, action: Action) -> Any:
        """As :meth:`next`, but ``state`` itself becomes the state after the action: a copy takes
        longer than the action, and two kilobytes."""
        state.apply_action(action.number)
        return state

    def _meet(self, state: Any, player: int, text: str, legal: list[int]) -> Decision:
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
    """``pyspiel.load_game``, with an error of ours and one line long."""
    if text.startswith("python_"):
        # OpenSpiel's games written in Python are registered by importing them.
        importlib.import_module("open_spiel.python.games")
    name, known = text.partition("(")[0], pyspiel.registered_names()
    if name not in known:
        # OpenSpiel would print the names of all its games.
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "pyspiel.registered_names() has them"
        raise GameError(f"OpenSpiel has no game {name!r}; {hint}")
    try:
        return pyspiel.load_game(text)
    except (pyspiel.SpielError, IndexError) as error:  # IndexError: a missing "filename", say
        reason = str(error).partition("\n")[0].removesuffix(" Available games are:")
        raise GameError(f"OpenSpiel cannot load {text!r}: {reason}") from error


def _refuse_unwalkable(pyspiel: Any, kind: Any, text: str) -> None:
    """Raise GameError where a game has no histories to walk, or no names for its infosets."""
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
    """A node's actions or outcomes."""
    return _label([state.action_to_string(player, number) for number in numbers], numbers)


def _label(names: Sequence[str], numbers: Sequence[int]) -> tuple[Action, ...]:
    """Actions or outcomes with OpenSpiel's names and numbers; their labels are all different."""
    if len(set(names)) < len(names):
        # All of them: one that stayed as it is could be what another one becomes.
        names = [f"{name} {number}" for name, number in zip(names, numbers, strict=True)]
    return tuple(map(Action, names, numbers))
