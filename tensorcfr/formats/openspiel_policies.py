"""Games and policies to OpenSpiel, and its policies back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import GameError, MissingExtraError
from ..model.arrays import CHANCE, TERMINAL
from ..model.game import CompiledGame
from ..model.policy import Policy
from .efg import efg_lines
from .matching import TheirNode, match_infosets
from .openspiel import CHANCE_PLAYER, TERMINAL_PLAYER, OpenSpielGame


def to_openspiel(game: CompiledGame) -> Any:
    """The game as a ``pyspiel.Game``: OpenSpiel's ``efg_game``, read from a text.

    Raises:
        GameError: OpenSpiel cannot read the text, two labels of a node are the same to it, say.
        MemoryLimitError: The game's histories do not fit into memory.
        MissingExtraError: OpenSpiel is not installed; says what installs it.
    """
    pyspiel = _pyspiel()
    try:
        return pyspiel.load_efg_game("".join(efg_lines(game, plain=True)))
    except pyspiel.SpielError as error:
        raise GameError(f"OpenSpiel cannot read {game.name}: {error}") from error


def policy_to_openspiel(policy: Policy, openspiel_game: Any = None) -> Any:
    """The policy as an ``open_spiel.python.policy.TabularPolicy``.

    Args:
        policy: The policy.
        openspiel_game: The same game in OpenSpiel, a ``pyspiel.Game`` or its text: the trees are
            walked together, and labels need not agree.  A simultaneous-move game is made
            turn-based.  By default the game that the policy's game was made of, if that was one of
            OpenSpiel, and :func:`to_openspiel` otherwise.

    Raises:
        ValueError: The trees of the two games differ; names the history.
        MissingExtraError: OpenSpiel is not installed; says what installs it.
    """
    rules = _rules(policy.game, openspiel_game)
    from open_spiel.python.policy import TabularPolicy

    states = _States(rules)
    pairs = match_infosets(policy.game, states, rules.name)
    table = TabularPolicy(rules.game, states={str(k): s for k, s in states.first.items()})
    if len(table.state_lookup) != len(pairs):
        raise ValueError(
            f"{rules.name}: two players share an information state string, which OpenSpiel's "
            "TabularPolicy does not tell apart"
        )
    for (player, text), infoset in pairs.items():
        row = table.action_probability_array[table.state_lookup[text]]
        row[:] = 0.0
        legal = states.first[player, text].legal_actions()
        row[legal] = policy.probabilities[policy.game.sequences(infoset)]
    return table


def policy_to_pyspiel(policy: Policy, openspiel_game: Any = None) -> Any:
    """The policy as a ``pyspiel.TabularPolicy``, which OpenSpiel's C++ functions take.

    Arguments and errors are those of :func:`policy_to_openspiel`.
    """
    rules = _rules(policy.game, openspiel_game)
    states = _States(rules)
    table: dict[str, list[tuple[int, float]]] = {}
    for (player, text), infoset in match_infosets(policy.game, states, rules.name).items():
        if text in table:
            raise ValueError(f"{rules.name}: two players share the information state {text!r}")
        legal = states.first[player, text].legal_actions()
        row = policy.probabilities[policy.game.sequences(infoset)].tolist()
        table[text] = list(zip(legal, row, strict=True))
    return _pyspiel().TabularPolicy(table)


def from_openspiel(game: CompiledGame, policy: Any, openspiel_game: Any = None) -> Policy:
    """A policy from one of OpenSpiel: anything with ``action_probabilities(state)``.

    Args:
        game: Our game.
        policy: Theirs; it is asked once for each infoset.
        openspiel_game: The same game in OpenSpiel, or its text.  By default that of the policy, if
            it knows one, or the one that ``game`` was made of.

    Raises:
        ValueError: The trees of the two games differ, or the policy has no distribution for an
            infoset; names it.
        MissingExtraError: OpenSpiel is not installed; says what installs it.
    """
    if openspiel_game is None:
        openspiel_game = getattr(policy, "game", None)
    if openspiel_game is None and not game.name.startswith("openspiel:"):
        raise ValueError(
            "which game of OpenSpiel is this policy for? "
            "call from_openspiel(game, policy, openspiel_game)"
        )
    rules = _rules(game, openspiel_game)
    states = _States(rules)
    pairs = match_infosets(game, states, rules.name)
    probabilities = np.ones(game.n_sequences)
    for key, infoset in pairs.items():
        state = states.first[key]
        given = dict(policy.action_probabilities(state))
        row = np.array([given.pop(action, 0.0) for action in state.legal_actions()])
        if not ((row >= 0).all() and abs(row.sum() - 1.0) <= 1e-9) or any(given.values()):
            raise ValueError(
                f"the policy of OpenSpiel has no distribution over the legal actions of "
                f"{game.infoset_labels[infoset]!r}: {policy.action_probabilities(state)}"
            )
        probabilities[game.sequences(infoset)] = row
    return Policy(game, probabilities)


class _States:
    """The nodes of a game of OpenSpiel in prefix order."""

    def __init__(self, rules: OpenSpielGame) -> None:
        self.rules = rules
        self.first: dict[tuple[int, str], Any] = {}
        """A state of each infoset, by player and information state string."""

    def __iter__(self) -> Iterator[TheirNode[tuple[int, str]]]:
        stack = [self.rules.root()]
        while stack:
            state = stack.pop()
            player = state.current_player()
            if player == TERMINAL_PLAYER:
                yield TheirNode(TERMINAL, None, 0)
                continue
            if player == CHANCE_PLAYER:
                actions = [action for action, _ in state.chance_outcomes()]
                yield TheirNode(CHANCE, None, len(actions))
            else:
                actions = state.legal_actions()
                key = player, state.information_state_string(player)
                self.first.setdefault(key, state)
                yield TheirNode(player, key, len(actions))
            stack.extend(state.child(action) for action in reversed(actions))


def _rules(game: CompiledGame, openspiel_game: Any) -> OpenSpielGame:
    if openspiel_game is None:
        text = game.name.removeprefix("openspiel:")
        # An efg_game was read from a text that its name does not hold.
        known = text != game.name and not text.startswith("efg_game")
        openspiel_game = text if known else to_openspiel(game)
    return OpenSpielGame(openspiel_game)


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ImportError as error:
        raise MissingExtraError("open_spiel", "openspiel") from error
    return pyspiel
