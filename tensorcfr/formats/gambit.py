"""Games of pygambit, read through the text that pygambit writes, and its behaviour profiles."""

from __future__ import annotations

import io
from typing import Any

from .._util.extras import needs
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.sequence_table import policy_of
from ..rules import Game
from .efg import efg_lines, parse_efg
from .matching import TheirNode, match_infosets, policy_of_pairs
from .nfg import parse_nfg


def rules_of_gambit(game: Any) -> Game:
    """Return the rules of a ``pygambit.Game``, a tree or a table.

    Raises:
        FormatError: This library cannot read the text that pygambit writes for the game.
    """
    title = game.title or "gambit"
    if game.is_tree:
        return parse_efg(game.to_efg(), title)
    return parse_nfg(game.to_nfg(), title)


def to_gambit(game: FlatGame) -> Any:
    """Convert a game to a ``pygambit.Game``.

    Raises:
        MissingExtraError: pygambit is not installed; names the command that installs it.
        ValueError: pygambit does not accept a label.
    """
    pygambit = needs("pygambit", "gambit")
    return pygambit.read_efg(io.BytesIO("".join(efg_lines(game)).encode()))


def policy_to_gambit(policy: Any, gambit_game: Any = None) -> Any:
    """Convert a policy to a mixed behaviour profile of pygambit, in floating point.

    Args:
        policy: A :class:`Policy`, or a solution with one.
        gambit_game: The same game in pygambit, a tree.  The trees are compared node by node, and
            labels need not agree.  By default the result of :func:`to_gambit`.

    Raises:
        ValueError: The trees of the two games differ; names the history.
    """
    policy = policy_of(policy)
    game = require_flat(policy.game, "pygambit")
    if gambit_game is None:
        gambit_game = to_gambit(game)
    profile = gambit_game.mixed_behavior_profile()
    for infoset, node in _match(game, gambit_game):
        row = policy.probabilities[game.sequences(infoset)].tolist()
        for action, probability in zip(node.infoset.actions, row, strict=True):
            profile[action] = probability
    return profile


def from_gambit(game: CompiledGame, profile: Any) -> Policy:
    """Return the policy of a mixed behaviour profile of pygambit, in floating point or rational.

    Raises:
        ValueError: The trees of the two games differ, or the profile is not a distribution at an
            infoset; names it.
    """
    game = require_flat(game, "a profile of Gambit")
    if not hasattr(profile, "mixed_behaviors"):
        raise ValueError(
            "the policy must be a mixed behaviour profile of a pygambit game with a tree"
        )
    rows = (
        (infoset, row, row)
        for infoset, node in _match(game, profile.game)
        for row in [[float(profile[action]) for action in node.infoset.actions]]
    )
    return policy_of_pairs(game, rows, "the profile of pygambit has no distribution at")


def _match(game: FlatGame, gambit_game: Any) -> list[tuple[int, Any]]:
    """Return the infosets of our game, each with a node of a game of pygambit."""
    players = list(gambit_game.players)

    def look(node: Any) -> TheirNode[tuple[int, int]]:
        """Describe a node of pygambit."""
        if node.is_terminal:
            return TheirNode(TERMINAL, None, ())
        children = list(node.children)
        if node.player.is_chance:
            return TheirNode(CHANCE, None, children)
        key = node.player.number, node.infoset.number
        return TheirNode(players.index(node.player), key, children)

    return match_infosets(game, gambit_game.root, look, gambit_game.title)
