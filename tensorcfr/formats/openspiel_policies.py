"""Conversion of games and policies to OpenSpiel, and of policies from OpenSpiel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from .._util.argument_checks import Whole, checked
from .._util.extras import needs
from ..errors import GameError
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.sequence_table import policy_of
from .efg import efg_lines
from .matching import TheirNode, match_infosets, policy_of_pairs
from .openspiel import CHANCE_PLAYER, PYSPIEL, TERMINAL_PLAYER, OpenSpielGame


def to_openspiel(game: FlatGame) -> Any:
    """Convert a game to a ``pyspiel.Game``: OpenSpiel's ``efg_game``, read from a text.

    Raises:
        GameError: OpenSpiel cannot read the text, for example because it takes two labels of a node
            to be equal.
        MemoryLimitError: The game's histories do not fit into memory.
        MissingExtraError: OpenSpiel is not installed; names the command that installs it.
    """
    pyspiel = needs(*PYSPIEL)
    try:
        return pyspiel.load_efg_game("".join(efg_lines(game, plain=True)))
    except pyspiel.SpielError as error:
        raise GameError(f"OpenSpiel cannot read {game.name}: {error}") from error


def policy_to_openspiel(policy: Any, openspiel_game: Any = None) -> Any:
    """Convert a policy to an ``open_spiel.python.policy.TabularPolicy``.

    Args:
        policy: A :class:`Policy`, or a solution with one.
        openspiel_game: The same game in OpenSpiel, a ``pyspiel.Game`` or its text.  The trees are
            compared node by node, and labels need not agree.  A simultaneous-move game is converted
            to a turn-based one.  May be left out if the policy's game comes from OpenSpiel.  For a
            game that OpenSpiel does not have, pass the result of :func:`to_openspiel`.

    Raises:
        ValueError: The trees of the two games differ; names the history.  Or ``openspiel_game`` is
            missing.
        MissingExtraError: OpenSpiel is not installed; names the command that installs it.
    """
    rules, rows = _rows(policy, openspiel_game)
    from open_spiel.python.policy import TabularPolicy

    table = TabularPolicy(rules.game, states={text: state for text, (state, _) in rows.items()})
    for text, (state, probabilities) in rows.items():
        row, legal = table.action_probability_array[table.state_lookup[text]], state.legal_actions()
        row[:] = 0.0
        row[legal] = probabilities
    return table


def policy_to_pyspiel(policy: Any, openspiel_game: Any = None) -> Any:
    """Convert a policy to a ``pyspiel.TabularPolicy`` for OpenSpiel's C++ functions.

    Arguments and errors are those of :func:`policy_to_openspiel`.
    """
    return _to_pyspiel(policy, openspiel_game)[1]


@checked()
def openspiel_bot(
    policy: Any,
    player: Annotated[int, Whole(0)],
    openspiel_game: Any = None,
    *,
    seed: Annotated[int, Whole(0, 2**31 - 1)] = 0,
) -> Any:
    """Return a ``pyspiel.Bot`` that plays a policy in OpenSpiel.

    OpenSpiel's tournaments and ``evaluate_bots`` take it.  Its ``step_with_policy`` returns the
    probabilities, too.

    Args:
        policy: A :class:`Policy`, or a solution with one.
        player: The player that it plays.
        openspiel_game: The same game in OpenSpiel; see :func:`policy_to_openspiel`.
        seed: Seed of its draws.

    Raises:
        ValueError: The game has no such player; and the errors of :func:`policy_to_openspiel`.
        MissingExtraError: OpenSpiel is not installed; names the command that installs it.
    """
    rules, table = _to_pyspiel(policy, openspiel_game)
    if player >= rules.n_players:
        raise ValueError(f"player must be from 0 to {rules.n_players - 1}, not {player}")
    return needs(*PYSPIEL).make_policy_bot(rules.game, player, seed, table)


def _to_pyspiel(policy: Any, openspiel_game: Any) -> tuple[OpenSpielGame, Any]:
    """Return the rules and the ``pyspiel.TabularPolicy`` of a policy."""
    rules, rows = _rows(policy, openspiel_game)
    table = {
        text: list(zip(state.legal_actions(), probabilities, strict=True))
        for text, (state, probabilities) in rows.items()
    }
    return rules, needs(*PYSPIEL).TabularPolicy(table)


def _rows(
    source: Any, openspiel_game: Any
) -> tuple[OpenSpielGame, dict[str, tuple[Any, list[float]]]]:
    """Return the rules, and the strategy of each infoset of OpenSpiel.

    Returns:
        The rules; and for each information state string a state and the probabilities of its legal
        actions.
    """
    policy: Policy = policy_of(source)
    game = require_flat(policy.game, "OpenSpiel")
    rules = _rules(game, openspiel_game, "policy_to_openspiel(policy, openspiel_game)")
    strategies: dict[str, tuple[Any, list[float]]] = {}
    for infoset, state in match_infosets(game, rules.root(), _look, rules.name):
        text = state.information_state_string(state.current_player())
        if text in strategies:
            raise ValueError(
                f"{rules.name}: two players share an information state string, which OpenSpiel's "
                f"TabularPolicy does not tell apart: {text!r}"
            )
        strategies[text] = state, policy.probabilities[game.sequences(infoset)].tolist()
    return rules, strategies


def from_openspiel(game: CompiledGame, policy: Any, openspiel_game: Any = None) -> Policy:
    """Return the policy of an OpenSpiel policy: any object with ``action_probabilities(state)``.

    Args:
        game: Our game.
        policy: OpenSpiel's policy; it is called once per infoset.
        openspiel_game: The same game in OpenSpiel, or its text.  By default the policy's ``game``
            attribute, or else the OpenSpiel game from which ``game`` was compiled.

    Raises:
        ValueError: The trees of the two games differ, or the policy has no distribution for an
            infoset; names it.  Or ``openspiel_game`` is missing.
        MissingExtraError: OpenSpiel is not installed; names the command that installs it.
    """
    game = require_flat(game, "a policy of OpenSpiel")
    if openspiel_game is None:
        openspiel_game = getattr(policy, "game", None)
    rules = _rules(game, openspiel_game, "from_openspiel(game, policy, openspiel_game)")

    def strategies() -> Iterator[tuple[int, list[float], Any]]:
        for infoset, state in match_infosets(game, rules.root(), _look, rules.name):
            answer = policy.action_probabilities(state)
            # Probabilities of illegal actions remain and are reported as an error.
            illegal = dict(answer)
            row = [illegal.pop(action, 0.0) for action in state.legal_actions()]
            yield infoset, [*row, *illegal.values()], answer

    problem = "the policy of OpenSpiel has no distribution over the legal actions of"
    return policy_of_pairs(game, strategies(), problem)


def _look(state: Any) -> TheirNode[tuple[int, str]]:
    """Describe a state of OpenSpiel."""
    player = state.current_player()
    if player == TERMINAL_PLAYER:
        return TheirNode(TERMINAL, None, ())
    if player == CHANCE_PLAYER:
        outcomes = [state.child(action) for action, _ in state.chance_outcomes()]
        return TheirNode(CHANCE, None, outcomes)
    children = [state.child(action) for action in state.legal_actions()]
    return TheirNode(player, (player, state.information_state_string(player)), children)


def _rules(game: FlatGame, openspiel_game: Any, call: str) -> OpenSpielGame:
    """Return the rules of a game of OpenSpiel, by default of the one that ``game`` comes from."""
    if openspiel_game is None:
        text = game.name.removeprefix("openspiel:")
        if text == game.name:
            raise ValueError(f"which game of OpenSpiel is this policy for? call {call}")
        # An efg_game was read from a text that its name does not hold.
        openspiel_game = to_openspiel(game) if text.startswith("efg_game") else text
    return OpenSpielGame(openspiel_game)
