"""Games of pygambit, read through the text that pygambit itself writes of them; its profiles."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..model.arrays import CHANCE, TERMINAL
from ..model.game import CompiledGame
from ..model.policy import SUM_TOLERANCE, Policy
from ..rules import Game
from .efg import efg_lines, parse_efg
from .matching import TheirNode, match_infosets
from .nfg import parse_nfg


def rules_of_gambit(game: Any) -> Game:
    """The rules of a ``pygambit.Game``, a tree or a table.

    Raises:
        FormatError: pygambit writes the game in a way that this library does not read.
    """
    title = game.title or "gambit"
    if game.is_tree:
        return parse_efg(game.to_efg(), title)
    return parse_nfg(game.to_nfg(), title)


def to_gambit(game: CompiledGame) -> Any:
    """The game as a ``pygambit.Game``.

    Raises:
        MissingExtraError: pygambit is not installed; says what installs it.
        ValueError: pygambit does not accept a label.
    """
    try:
        import pygambit
    except ImportError as error:
        raise MissingExtraError("pygambit", "gambit") from error
    return pygambit.read_efg(io.BytesIO("".join(efg_lines(game)).encode()))


def policy_to_gambit(policy: Policy, gambit_game: Any = None) -> Any:
    """The policy as a mixed behaviour profile of pygambit, in floating point.

    Args:
        policy: The policy.
        gambit_game: The same game in pygambit, a tree: the trees are walked together, and labels
            need not agree.  By default :func:`to_gambit`.

    Raises:
        ValueError: The trees of the two games differ; names the history.
    """
    if gambit_game is None:
        gambit_game = to_gambit(policy.game)
    nodes = _Nodes(gambit_game)
    profile = gambit_game.mixed_behavior_profile()
    for key, infoset in match_infosets(policy.game, nodes, gambit_game.title).items():
        row = policy.probabilities[policy.game.sequences(infoset)].tolist()
        for action, probability in zip(nodes.infosets[key].actions, row, strict=True):
            profile[action] = probability
    return profile


def from_gambit(game: CompiledGame, profile: Any) -> Policy:
    """A policy from a mixed behaviour profile of pygambit, in floating point or rational.

    Raises:
        ValueError: The trees of the two games differ, or the profile is no distribution at an
            infoset; names it.
    """
    if not hasattr(profile, "mixed_behaviors"):
        raise ValueError("a policy is a mixed behaviour profile of pygambit, of a game with a tree")
    nodes = _Nodes(profile.game)
    probabilities = np.ones(game.n_sequences)
    for key, infoset in match_infosets(game, nodes, profile.game.title).items():
        actions = nodes.infosets[key].actions
        row = np.array([float(profile[action]) for action in actions])
        if not ((row >= 0).all() and abs(row.sum() - 1.0) <= SUM_TOLERANCE):
            raise ValueError(
                f"the profile of pygambit has no distribution at {game.infoset_labels[infoset]!r}: "
                f"{row.tolist()}"
            )
        probabilities[game.sequences(infoset)] = row
    return Policy(game, probabilities)


class _Nodes:
    """The nodes of a game of pygambit in prefix order."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.infosets: dict[tuple[int, int], Any] = {}
        """Their infosets by player, from 0, and number."""

    def __iter__(self) -> Iterator[TheirNode[tuple[int, int]]]:
        stack = [self.game.root]
        while stack:
            node = stack.pop()
            if node.is_terminal:
                yield TheirNode(TERMINAL, None, 0)
                continue
            children = list(node.children)
            if node.player.is_chance:
                yield TheirNode(CHANCE, None, len(children))
            else:
                key = node.player.number, node.infoset.number
                self.infosets.setdefault(key, node.infoset)
                yield TheirNode(self._player(node.player), key, len(children))
            stack.extend(reversed(children))

    def _player(self, player: Any) -> int:
        return next(i for i, one in enumerate(self.game.players) if one == player)
