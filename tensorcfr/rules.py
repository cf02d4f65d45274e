"""How a game is said: two small classes to derive from, and the nodes they return.

A game answers one question, "what is at this history?", with a :class:`Decision`, a
:class:`Chance` or a :class:`Terminal`.  :class:`Game` is walked history by history.
:class:`PublicTreeGame` is for games that deal private hands first and are public
afterwards (Kuhn, Leduc, liar's dice, hold'em): it says the hands once and the public tree
once, and nobody has to walk their product.

Nothing here computes: the compilers read these rules and turn them into arrays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Decision(NamedTuple):
    """A node where a player acts."""

    player: int
    """Who acts, 0-based."""
    infoset: str | None
    """What the player sees, as a label: histories with equal labels are one infoset.
    Two players never share a label.  In a :class:`PublicTreeGame` it is the public part of the
    label, and None stands for what was done so far."""
    actions: Sequence[Hashable]
    """What can be done, at least one; the same, in the same order, at every history of an
    infoset.  ``str(action)`` is the action's label."""


class Chance(NamedTuple):
    """A node where nature acts."""

    outcomes: Mapping[Hashable, Any]
    """Outcome to probability; the probabilities sum to 1.  In a :class:`PublicTreeGame`
    each probability is an array that broadcasts to the shape of ``prior``: the probability
    given everybody's hands."""


class Terminal(NamedTuple):
    """A node where the game is over."""

    utilities: Sequence[float]
    """What each player gets, one number per player, in the game's own unit (chips, say)."""


class Payoff(NamedTuple):
    """A public node where the game is over: ``coefficient`` times a matrix over hands.

    The matrix is asked for once per distinct ``matrix`` key, through
    :meth:`PublicTreeGame.matrix`: few matrices ("fold", "showdown on this board") serve
    many terminals.
    """

    coefficient: float
    """Factor of the matrix: the stake, say."""
    matrix: Hashable
    """Key of the matrix; the argument of :meth:`PublicTreeGame.matrix`."""


class Game:
    """A game of your own: derive, set ``n_players``, write :meth:`node`.

    >>> class MatchingPennies(Game):
    ...     def node(self, history):
    ...         if len(history) < 2:
    ...             player = len(history)
    ...             return Decision(player, infoset=f"player {player}", actions=("heads", "tails"))
    ...         won = 1.0 if history[0] == history[1] else -1.0
    ...         return Terminal((won, -won))

    A state is whatever :meth:`root` and :meth:`next` make it.  Unless you say otherwise it is
    the history itself, a tuple of the actions and chance outcomes so far.
    """

    n_players: int = 2
    """Number of players."""

    @property
    def name(self) -> str:
        """The name that the compiled game carries."""
        return type(self).__name__

    def root(self) -> Any:
        """The state before anything has happened."""
        return ()

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Who acts here, with which actions or outcomes; or what the end pays."""
        raise NotImplementedError(f"{type(self).__name__} must define node(state)")

    def next(self, state: Any, action: Any) -> Any:
        """The state after an action or a chance outcome; ``state`` itself must not change."""
        return (*state, action)


class PublicTreeGame:
    """A game that deals one private hand to each player and is public from then on.

    ``hands`` and ``prior`` say the deal; :meth:`node` says the public tree, in the nodes of
    :class:`Game` with three readings of their own: a decision's ``infoset`` is the public
    part of the label (None: what was done so far, each step after a space), a chance outcome's
    probability is an array over hands, and the end is a :class:`Payoff`.

    Hands are dealt one player after the other, player 0 first; a combination of hands with
    ``prior`` 0 (two players holding one card, say) is never dealt.
    """

    n_players: int = 2
    """Number of players."""
    states_repeat: bool = False
    """Whether states are hashable, and equal states have equal futures: then :meth:`node` is
    asked once for each of them, however many public nodes it stands for, and decisions leave
    their ``infoset`` to be None.  Large public trees need this."""
    hands: Sequence[Sequence[Hashable]]
    """Per player, the hands that can be dealt."""
    prior: np.ndarray
    """Joint probability of the hands, shape (hands of player 0, hands of player 1, ...)."""

    @property
    def name(self) -> str:
        """The name that the compiled game carries."""
        return type(self).__name__

    def root(self) -> Any:
        """The public state right after the deal."""
        return ()

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """Who acts at this public state, or which public chance, or what the end pays."""
        raise NotImplementedError(f"{type(self).__name__} must define node(state)")

    def next(self, state: Any, action: Any) -> Any:
        """The public state after an action or a public chance outcome."""
        return (*state, action)

    def matrix(self, key: Any) -> np.ndarray:
        """Utilities per coefficient, shape (n_players, hands of player 0, hands of player 1, ...).

        Entries of deals that cannot occur are ignored.
        """
        raise NotImplementedError(f"{type(self).__name__} must define matrix(key)")

    def label(self, player: int, hand: Hashable, public: str) -> str:
        """The infoset label of a player who holds ``hand`` at a public node."""
        return f"{hand}{public}"
