"""The rules of a game: three classes to derive from, and the nodes that they return.

A game answers one question, "which node is at this history?", with a :class:`Decision`, a
:class:`Chance` or a :class:`Terminal`.  The compiler visits every history of a :class:`Game`.
:class:`PublicTreeGame` is for games that deal private hands first and are public afterwards (Kuhn,
Leduc, liar's dice, hold'em): it defines the hands once and the public tree once, and their product
is never visited.  :class:`CardGame` is for games in which hands are sets of cards, and cards are
dealt to a board.

Nothing here computes: the compilers read these rules and turn them into arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .errors import GameError, suggest


class Decision(NamedTuple):
    """Node where a player acts."""

    player: int
    """Acting player, 0-based."""
    infoset: str | None
    """Label of the information that the player has: histories with equal labels are one infoset.
    Two players never share a label.  In a :class:`PublicTreeGame` it is the public part of the
    label, and None means all actions and outcomes so far."""
    actions: Sequence[Hashable]
    """Available actions, at least one; the same actions in the same order at every history of an
    infoset.  ``str(action)`` is the action's label."""


class Chance(NamedTuple):
    """Node where chance acts."""

    outcomes: Mapping[Hashable, Any]
    """Outcome to probability; the probabilities sum to 1.  In a :class:`PublicTreeGame` each
    probability is an array that broadcasts to the shape of ``prior``: the probability given all
    players' hands."""


class Terminal(NamedTuple):
    """Node where the game is over."""

    utilities: Sequence[float]
    """Utility of each player, in the game's own unit (chips, say)."""


class Payoff(NamedTuple):
    """Public node where the game is over: ``coefficient`` times a matrix over hands.

    :meth:`PublicTreeGame.matrix` is called once per distinct ``matrix`` key, because many terminals
    share few matrices ("fold", "showdown on this board").
    """

    coefficient: float
    """Factor of the matrix, such as the stake."""
    matrix: Hashable
    """Key of the matrix; the argument of :meth:`PublicTreeGame.matrix`."""


class BaseRules:
    """Rules that games of every kind share."""

    n_players: int = 2
    """Number of players."""

    @property
    def name(self) -> str:
        """Name of the compiled game."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rules of {self.name}>"

    def root(self) -> Any:
        """Return the first state, before any action or chance outcome.  In a game that deals hands
        first it is the public state right after the deal."""
        return ()

    def node(self, state: Any) -> Any:
        """Return the node at a state."""
        raise NotImplementedError(f"{type(self).__name__} must define node(state)")

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after an action or a chance outcome; ``state`` itself must not
        change."""
        return (*state, action)


class Game(BaseRules):
    """Game of your own: derive, set ``n_players``, write :meth:`node`.

    >>> class MatchingPennies(Game):
    ...     def node(self, history):
    ...         if len(history) < 2:
    ...             player = len(history)
    ...             return Decision(player, infoset=f"player {player}", actions=("heads", "tails"))
    ...         won = 1.0 if history[0] == history[1] else -1.0
    ...         return Terminal((won, -won))

    :meth:`root` and :meth:`next` define the states.  By default a state is the history itself, a
    tuple of the actions and chance outcomes so far.
    """

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the node at a state: the player and their actions, the chance outcomes, or the
        utilities."""
        return super().node(state)


class PublicTreeGame(BaseRules):
    """Game that deals one private hand to each player and is public from then on.

    ``hands`` and ``prior`` define the deal.  :meth:`node` defines the public tree, in the nodes of
    :class:`Game` with three differences:

    * The ``infoset`` of a decision is the public part of the label.  None means all actions and
      outcomes so far, each after a space.
    * The probability of a chance outcome is an array over hands.
    * The end is a :class:`Payoff`.

    Hands are dealt one player after the other, player 0 first.  A combination of hands with
    ``prior`` 0 (two players holding one card, say) is never dealt.
    """

    states_repeat: bool = False
    """True if states are hashable, and equal states have equal futures.  Then :meth:`node` is
    called once per state, however many public nodes have it, and the ``infoset`` of a decision must
    be None.  Large public trees need this."""
    hands: Sequence[Sequence[Hashable]]
    """Hands that can be dealt, for each player."""
    prior: np.ndarray
    """Joint probability of the hands, shape (hands of player 0, hands of player 1, ...)."""

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """Return the node at a public state: the player and their actions, the public chance
        outcomes, or the payoff."""
        return super().node(state)

    def matrix(self, key: Any) -> np.ndarray:
        """Return the utilities per coefficient, shape (n_players, hands of player 0, hands of
        player 1, ...).

        Entries of deals that cannot occur are ignored.
        """
        raise NotImplementedError(f"{type(self).__name__} must define matrix(key)")

    def label(self, player: int, hand: Hashable, public: str) -> str:
        """Return the infoset label of a player who holds ``hand`` at a public node."""
        return f"{hand}{public}"


class Deal(NamedTuple):
    """Public node of a :class:`CardGame` where cards are dealt face up: each card that is neither
    on the board nor in a hand is equally likely."""

    cards: int = 1
    """Number of cards that are dealt at once, in no order.  The n-th deal must have the same number
    in every line."""


class Fold(NamedTuple):
    """Public node of a :class:`CardGame` where the game is over and the utilities do not depend on
    the cards."""

    utilities: tuple[float, ...]
    """Utility of each player, in the game's own unit (chips, say)."""


class Showdown(NamedTuple):
    """Public node of a :class:`CardGame` of two players where the hands are compared."""

    win: tuple[float, float]
    """Utility of each player if player 0 has the stronger hand."""
    tie: tuple[float, float]
    """Utility of each player if both hands are equally strong."""
    lose: tuple[float, float]
    """Utility of each player if player 1 has the stronger hand."""


class SidePots(NamedTuple):
    """Public node of a :class:`CardGame` of three players where the hands are compared, pot by pot.

    The strongest hands of the players who compete for a pot share it equally.  Before the first
    :class:`Deal`, some cards may be dealt face up first.
    """

    pots: tuple[tuple[float, tuple[int, ...]], ...]
    """Amount of each pot, and the players who compete for it."""
    paid: tuple[float, ...]
    """Amount that each player has paid.  Their utility is their share of the pots minus it."""
    cards: int = 0
    """Number of cards that are dealt first, after which nobody acts, as in a :class:`Runout`."""
    utility: Callable[[tuple[float, ...]], Sequence[float]] | None = None
    """Function from the amounts that all players win to their utilities; None if these are
    equal."""


class Chips(NamedTuple):
    """Chips of a public state of a :class:`CardGame`."""

    pot: float
    """All chips in the pot."""
    call: float
    """Chips that the acting player must add to stay; 0 if nobody acts."""
    behind: tuple[float, ...] | None = None
    """Chips that each player has left; None if stacks are unlimited."""


class Defaults(NamedTuple):
    """Defaults for solving a game, and the units in which amounts may be given."""

    precision: str = "float64"
    """Dtype of a solver's arrays."""
    target: str | None = None
    """Exploitability at which a solve ends, with its unit; None for a fixed number of
    iterations."""
    units: Mapping[str, float] = MappingProxyType({})
    """Size of each unit in the game's own unit, ``{"chips": 1.0, "%": 0.55, "mbb": 0.002}``;
    ``"%"`` is a hundredth of the pot."""
    algorithm: str | None = None
    """Name of the algorithm that solves the game; None for the default of games of its kind."""


class Runout(NamedTuple):
    """Public node of a :class:`CardGame`, before the first :class:`Deal`, after which nobody acts:
    cards are dealt face up, and the hands are compared.  All boards are counted;
    :attr:`CardGame.boards` does not restrict them."""

    win: tuple[float, float]
    """Utility of each player if player 0 has the stronger hand."""
    tie: tuple[float, float]
    """Utility of each player if both hands are equally strong."""
    lose: tuple[float, float]
    """Utility of each player if player 1 has the stronger hand."""
    cards: int
    """Number of cards that are dealt."""


class Following(NamedTuple):
    """Counts of nodes at some public states of a :class:`CardGame`, and the states after them."""

    counts: np.ndarray
    """int64 (states, 4 + 2 * players): public nodes, terminals, decisions of each player, actions
    of each player, deals, and runouts.  A node after an action is counted here, unless it has a row
    of its own in ``rows``."""
    parent: np.ndarray
    """int64 (following,): index of the state before."""
    rows: np.ndarray
    """int64 (following, numbers): following states."""
    dealt: np.ndarray
    """bool (following,): True if cards were dealt in between."""
    cards: frozenset[int]
    """Numbers of cards of the deals at these states."""


class StateRows(Protocol):
    """Public states of a :class:`CardGame` as rows of whole numbers, so that many of them are
    counted at a time.  Equal rows have equal futures."""

    def root(self) -> np.ndarray:
        """Return the first state, int64 (1, numbers)."""

    def after(self, rows: np.ndarray) -> Following:
        """Return the counts at some states, which have had the same number of deals, and the states
        after them."""


class HandGroups(NamedTuple):
    """Partition of hands into groups."""

    names: tuple[str, ...]
    """Names of the groups, in the order of display."""
    of_hand: np.ndarray
    """int64 (hands,): group of each hand."""
    ranges: tuple[str, ...] = ()
    """Notation of each group in a range, if all groups have one.  The notations of two groupings,
    one after the other, denote the hands that are in both groups."""


class CardGame(BaseRules):
    """Game in which hands are sets of cards, and cards are dealt to a board.

    There are two players whose hands have one to five cards each, or three players whose hands have
    one or two.  The betting does not depend on the cards: it is one tree for all boards, with a
    :class:`Deal` wherever the next cards are dealt.  A line ends in a :class:`Fold`; between two
    players in a :class:`Showdown` or a :class:`Runout`, between three in :class:`SidePots`.  Arrays
    of hands x hands are made only for a :class:`Runout` and for :attr:`boards`, so hands may be
    many: :class:`tensorcfr.games.holdem.Holdem` has up to 1,176 hands of each player.

    If no two hands have a card in common, the probability of dealing them is proportional to the
    product of their weights; otherwise it is 0.  States are hashable, and equal states have equal
    futures.
    """

    n_players: int = 2
    """Number of players, two or three."""
    is_of_cards = True
    """True, as for compiled card games."""
    cards: Sequence[str]
    """Labels of all cards of the deck.  In all other fields a card is an index of this sequence."""
    board: tuple[int, ...] = ()
    """Cards on the board from the start."""
    dead: tuple[int, ...] = ()
    """Cards that no hand has and that are never dealt: they were seen elsewhere, or the deck lacks
    them."""
    boards: Mapping[tuple[int, ...], float] | None = None
    """Sets of cards that the first :class:`Deal` may show, ascending, each with its weight; None
    for all sets, equally likely.  One of them is drawn by weight before the hands, which have none
    of its cards, and is face down until it is dealt."""
    hands: Sequence[np.ndarray]
    """Cards of each hand, for each player int64 (hands, 1 to 5); all hands have the same number of
    cards."""
    weights: Sequence[np.ndarray]
    """Weights of the hands, above 0, for each player float64 (hands,)."""
    weights_vary: bool = False
    """True if :meth:`weights_on` depends on the board, so that :attr:`weights` is not enough."""
    pays_by_order: bool = False
    """True if payoffs of three players depend on the order of all hands, by a ``utility`` of
    :class:`SidePots`.  Such a game takes more memory."""
    rankings: int = 1
    """Number of rankings of the hands at a showdown.  Each decides an equal share of the payoffs:
    there are two if the high hand and the low hand split every pot.  More than one need utilities
    that are linear in chips, so :class:`SidePots` have no ``utility``."""
    player_names: tuple[str, ...] = ("player 0", "player 1")
    """Names of the players, for a person who plays against the solver."""
    unit_name: str = ""
    """Name of the unit of utilities, after a space; "" if it has no name."""
    defaults: Defaults = Defaults()
    """Defaults for solving the game, and its units."""
    bytes_made: int = 0
    """Temporary memory in bytes that making the rules takes, if it is large."""
    caveat: str = ""
    """Caveat about inexact parts of the rules; usually empty."""

    @property
    def free(self) -> np.ndarray:
        """int64 (cards,): cards that are neither on the board from the start nor dead."""
        return np.setdiff1d(np.arange(len(self.cards)), (*self.board, *self.dead))

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        """Return the weights of a player's hands on a board.

        The probability of a pair of hands together with a board is proportional to the product of
        the two weights on this board.  They differ from :attr:`weights` if other players have
        folded: if those held high cards, fewer high cards are left for hands and boards.  Override
        this method for that, and set :attr:`weights_vary`.

        Args:
            player: The player.
            board: All cards of the board.

        Returns:
            float64 (hands,), above 0; any number for hands with a card of the board.
        """
        return self.weights[player]

    def chips(self, state: Any) -> Chips | None:
        """Return the chips at a public state; None if the game does not track chips."""
        return None

    def described(self, state: Any) -> list[str]:
        """Return short texts that describe a public state to a player, in addition to the board."""
        chips, node = self.chips(state), self.node(state)
        if chips is None or not isinstance(node, Decision):
            return []
        pot = f"pot {chips.pot:.12g}"
        if chips.behind is not None:
            pot += f", {chips.behind[node.player]:.12g} behind"
        return [pot, f"{chips.call:.12g} to call"] if chips.call else [pot]

    def node(self, state: Any) -> Decision | Deal | Fold | Showdown | SidePots | Runout:
        """Return the node at a public state: the player and their actions, a deal, or the end.

        The ``infoset`` of a decision is None: its label is all actions so far.
        """
        return super().node(state)

    def next(self, state: Any, action: Any) -> Any:
        """Return the public state after an action; ``action`` is None after a deal."""
        return (*state, action)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Compute the strength of hands at a showdown.

        Args:
            board: The cards of the board.
            hands: int64 (hands, 1 to 5): hands without a card of the board.

        Returns:
            int64 (hands,): the larger number wins, equal numbers tie.  With several
            :attr:`rankings` int64 (rankings, hands): such numbers for each ranking.
        """
        raise NotImplementedError(f"{type(self).__name__} must define strength(board, hands)")

    def strengths(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return :meth:`strength` ranking by ranking, int64 (rankings, hands).

        Raises:
            GameError: The rules return another shape, or numbers that are not whole.
        """
        strengths = np.atleast_2d(self.strength(board, hands))
        if strengths.shape != (self.rankings, len(hands)):
            raise GameError(
                f"{self.name}: strength returns an array of the shape {strengths.shape}, not "
                f"{(self.rankings, len(hands))}: rankings and hands"
            )
        if strengths.size and not np.can_cast(strengths.dtype, np.int64):
            raise GameError(
                f"{self.name}: strength returns an array of {strengths.dtype}, not of int64"
            )
        # Differences of unsigned numbers would never be negative.
        return strengths.astype(np.int64, copy=False)

    def runouts(self, cards: int) -> tuple[np.ndarray, np.ndarray]:
        """Count the boards, completed by some more cards, on which the hands of player 0 win, and
        tie.  With several :attr:`rankings` a board counts once in each of them.

        This implementation visits every board, which takes long for a whole deck; override it then.

        Args:
            cards: Number of cards to add to the board.

        Returns:
            int64 (hands of player 0, hands of player 1) twice; 0 for hands with a common card.
        """
        counts = np.zeros((2, *map(len, self.hands)), dtype=np.int64)
        for runout in combinations(self.free.tolist(), cards):
            board = (*self.board, *runout)
            # Hands with a card of the board cannot occur.
            live = [np.flatnonzero(~np.isin(hands, runout).any(axis=1)) for hands in self.hands]
            pairs = zip(self.hands, live, strict=True)
            strengths = (self.strengths(board, hands[possible]) for hands, possible in pairs)
            for first_strength, second_strength in zip(*strengths, strict=True):
                counts[0][np.ix_(*live)] += first_strength[:, None] > second_strength
                counts[1][np.ix_(*live)] += first_strength[:, None] == second_strength
        first_hands, second_hands = self.hands
        # Hands that share a card cannot be dealt together.
        counts *= ~(first_hands[:, None, :, None] == second_hands[None, :, None, :]).any(
            axis=(2, 3)
        )
        return counts[0], counts[1]

    def order_shares(self, cards: int) -> np.ndarray:
        """Return how likely three classes of hands are, and each order of their strengths, if some
        cards are dealt before the first :class:`Deal`.

        Hands that the suit permutations of :meth:`symmetries` map to each other form a class; the
        classes are numbered by their first hands.  Only games of three players that have
        :class:`SidePots` with cards need this.

        Args:
            cards: Number of cards to deal.

        Returns:
            float64 (4, classes, classes, classes): for classes ``[b, a, c]``, the sum over their
            disjoint hands of the share of boards on which ``a < b < c`` in strength, ``a = b < c``,
            ``a = b > c``, and ``a = b = c``; the mean over the :attr:`rankings`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define order_shares(cards)")

    def symmetries(self) -> np.ndarray:
        """Return permutations of the cards that preserve the order of all strengths, such as
        permutations of suits.

        Permutations that also preserve the board and both ranges make boards and hands equivalent,
        and equivalent ones are solved once.  The compiler selects these permutations itself, so
        return all.

        Returns:
            int64 (permutations, cards): image of each card.  The permutations form a group: the
            product of any two is in the array too.
        """
        return np.arange(len(self.cards))[None]

    def hand_label(self, player: int, hand: int) -> str:
        """Return the label of a hand: the labels of its cards, joined."""
        return "".join(str(self.cards[card]) for card in self.hands[player][hand])

    @property
    def betting_key(self) -> Hashable:
        """Key of the betting, or None if there is none.

        Games with equal keys have the same :meth:`root`, :meth:`node` and :meth:`next`, so that the
        betting of many boards or ranges is read once.
        """
        return None

    def with_options(self, **changes: Any) -> CardGame:
        """Return the rules of the same betting with other ranges, another board or other payoffs.

        Raises:
            ValueError: The game has no such options, or an option changes the betting; names it.
        """
        raise ValueError(f"{self.name} has no options that leave its betting as it is")

    def rows(self) -> StateRows | None:
        """Return the betting as rows of numbers, which are counted faster; None if there are none.

        The rows must describe the same betting as :meth:`root`, :meth:`node` and :meth:`next`.
        """
        return None

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """Return groupings of a player's hands for display on a board, by the name of the grouping.

        The first two of several groupings are the rows and columns of a grid of hands; hands of two
        cards have the usual 13 x 13 grid.  Hands with a card of the board may be in any group.
        """
        return {}

    names_ranges: bool = False
    """True if :meth:`named_hands` accepts ranges, ``"AKs,QQ+"``."""

    def named_hands(self, player: int, text: str) -> np.ndarray:
        """Return a mask of a player's hands that a text names: ``"*"`` for all, or labels separated
        by commas.

        Returns:
            bool (hands,).

        Raises:
            ValueError: A part of the text is wrong; names it.
        """
        labels = [self.hand_label(player, hand) for hand in range(len(self.hands[player]))]
        if text == "*":
            return np.ones(len(labels), dtype=bool)
        named = text.split(",")
        for label in named:
            if label not in labels:
                raise ValueError(f"there is no hand {label!r}; {suggest(label, labels)}")
        mask: np.ndarray = np.isin(labels, named)
        return mask


Rules = Game | PublicTreeGame | CardGame
"""Rules of a game of any kind."""
