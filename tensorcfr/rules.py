"""How a game is said: three classes to derive from, and the nodes they return.

A game answers one question, "what is at this history?", with a :class:`Decision`, a
:class:`Chance` or a :class:`Terminal`.  :class:`Game` is walked history by history.
:class:`PublicTreeGame` is for games that deal private hands first and are public
afterwards (Kuhn, Leduc, liar's dice, hold'em): it says the hands once and the public tree
once, and nobody has to walk their product.  :class:`CardGame` is for games in which hands are sets
of cards, and cards are dealt to a board.

Nothing here computes: the compilers read these rules and turn them into arrays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .errors import suggest


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


class BaseRules:
    """What the rules of games of every kind have."""

    n_players: int = 2
    """Number of players."""

    @property
    def name(self) -> str:
        """The name that the compiled game carries."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rules of {self.name}>"

    def root(self) -> Any:
        """The first state: before anything has happened, or where hands are dealt to start with,
        the public state right after the deal."""
        return ()

    def node(self, state: Any) -> Any:
        """What there is at a state."""
        raise NotImplementedError(f"{type(self).__name__} must define node(state)")

    def next(self, state: Any, action: Any) -> Any:
        """The state after an action or a chance outcome; ``state`` itself must not change."""
        return (*state, action)


class Game(BaseRules):
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

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Who acts here, with which actions or outcomes; or what the end pays."""
        return super().node(state)


class PublicTreeGame(BaseRules):
    """A game that deals one private hand to each player and is public from then on.

    ``hands`` and ``prior`` say the deal; :meth:`node` says the public tree, in the nodes of
    :class:`Game` with three readings of their own: a decision's ``infoset`` is the public
    part of the label (None: what was done so far, each step after a space), a chance outcome's
    probability is an array over hands, and the end is a :class:`Payoff`.

    Hands are dealt one player after the other, player 0 first; a combination of hands with
    ``prior`` 0 (two players holding one card, say) is never dealt.
    """

    states_repeat: bool = False
    """Whether states are hashable, and equal states have equal futures: then :meth:`node` is
    asked once for each of them, however many public nodes it stands for, and decisions leave
    their ``infoset`` to be None.  Large public trees need this."""
    hands: Sequence[Sequence[Hashable]]
    """Per player, the hands that can be dealt."""
    prior: np.ndarray
    """Joint probability of the hands, shape (hands of player 0, hands of player 1, ...)."""

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """Who acts at this public state, or which public chance, or what the end pays."""
        return super().node(state)

    def matrix(self, key: Any) -> np.ndarray:
        """Utilities per coefficient, shape (n_players, hands of player 0, hands of player 1, ...).

        Entries of deals that cannot occur are ignored.
        """
        raise NotImplementedError(f"{type(self).__name__} must define matrix(key)")

    def label(self, player: int, hand: Hashable, public: str) -> str:
        """The infoset label of a player who holds ``hand`` at a public node."""
        return f"{hand}{public}"


class Deal(NamedTuple):
    """A public node of a :class:`CardGame` where cards are dealt face up: each card that is neither
    on the board nor in a hand is equally likely."""

    cards: int = 1
    """How many are dealt at once, in no order; in every line equally many for the n-th time."""


class Fold(NamedTuple):
    """A public node of a :class:`CardGame` where the game is over, whatever the cards are."""

    utilities: tuple[float, float]
    """What each player gets, in the game's own unit (chips, say)."""


class Showdown(NamedTuple):
    """A public node of a :class:`CardGame` where the hands are compared."""

    win: tuple[float, float]
    """What each player gets if player 0 has the stronger hand."""
    tie: tuple[float, float]
    """What each player gets if both hands are equally strong."""
    lose: tuple[float, float]
    """What each player gets if player 1 has the stronger hand."""


class Chips(NamedTuple):
    """The chips of a public state of a :class:`CardGame`."""

    pot: float
    """All chips that have been put in."""
    call: float
    """Chips that the player who acts must add to stay; 0 where nobody acts."""
    behind: tuple[float, float] | None = None
    """Chips that each player has left; None where that is without a limit."""


class Usual(NamedTuple):
    """How a game is solved where nothing is said, and what its amounts may be given in."""

    precision: str = "float64"
    """In what the arrays of a solver are kept."""
    target: str | None = None
    """The exploitability at which a solve ends, with its unit; None for a number of iterations."""
    units: Mapping[str, float] = MappingProxyType({})
    """What one of each unit is in the game's own: ``{"chips": 1.0, "%": 0.55, "mbb": 0.002}``;
    ``"%"`` is a hundredth of the pot."""


class Runout(NamedTuple):
    """A public node of a :class:`CardGame`, before the first :class:`Deal`, after which nobody
    acts: cards are dealt face up, and the hands are compared.  All boards are counted, whatever
    :attr:`CardGame.boards` says."""

    win: tuple[float, float]
    """As in :class:`Showdown`."""
    tie: tuple[float, float]
    """Likewise."""
    lose: tuple[float, float]
    """Likewise."""
    cards: int
    """How many cards are dealt."""


class Following(NamedTuple):
    """What is at some public states of a :class:`CardGame`, and the states after them."""

    counts: np.ndarray
    """int64 (states, 8): public nodes, terminals, decisions of either player, actions of either
    player, nodes where cards are dealt, and nodes where cards are run out.  A node after an action
    is counted here if it is no row of ``rows``."""
    parent: np.ndarray
    """int64 (following,): the index of the state before."""
    rows: np.ndarray
    """int64 (following, numbers): the states after them."""
    dealt: np.ndarray
    """bool (following,): whether cards were dealt in between."""
    cards: frozenset[int]
    """How many cards are dealt at once, wherever some are."""


class Rows(Protocol):
    """The public states of a :class:`CardGame` as rows of whole numbers, so that many of them are
    counted at a time.  Equal rows have equal futures."""

    def root(self) -> np.ndarray:
        """Return the first state, int64 (1, numbers)."""

    def after(self, rows: np.ndarray) -> Following:
        """Return what is at some states, after which equally many cards were dealt."""


class HandGroups(NamedTuple):
    """Hands in groups, each of them in one."""

    names: tuple[str, ...]
    """The groups, in the order in which they are shown."""
    of_hand: np.ndarray
    """int64 (hands,): the number of the group of each hand."""
    ranges: tuple[str, ...] = ()
    """What stands for each group in a range, where all of them have such a text; those of two ways,
    one after the other, stand for the hands that are in both."""


class CardGame(BaseRules):
    """A game of two players in which hands are sets of cards, and cards are dealt to a board.

    The private hands have one to four cards each.  The betting does not depend on the cards: it is
    one tree for all boards, with a :class:`Deal` wherever the next cards come.  At the end stands
    a :class:`Fold`, a :class:`Showdown` or a :class:`Runout`.  Arrays of hands x hands are made for
    a :class:`Runout` and for :attr:`boards` alone, so hands may be many:
    :class:`tensorcfr.games.holdem.Holdem` has up to 1,176 of each player.

    A pair of hands is dealt with a probability that is proportional to the product of their
    weights, if they have no card in common.  States are hashable, and equal states have equal
    futures.
    """

    n_players: int = 2
    """Two; there is no other number."""
    is_of_cards = True
    """As for compiled games."""
    cards: Sequence[str]
    """The labels of all cards of the deck.  Elsewhere cards are numbers, indices of this."""
    board: tuple[int, ...] = ()
    """Cards that lie on the board from the start."""
    dead: tuple[int, ...] = ()
    """Cards that no hand has and that are never dealt: those that were seen elsewhere, or that the
    deck lacks."""
    boards: Mapping[tuple[int, ...], float] | None = None
    """The sets of cards that the first :class:`Deal` may show, ascending, each with its weight;
    None for all sets, equally likely.  One of them is drawn by weight before the hands, which have
    none of its cards, and lies face down until it is dealt."""
    hands: Sequence[np.ndarray]
    """For each player int64 (hands, 1 to 4): the cards of each hand, as many for both players."""
    weights: Sequence[np.ndarray]
    """For each player float64 (hands,): the weights of the hands, above 0."""
    weights_vary: bool = False
    """Whether :meth:`weights_on` says more than :attr:`weights`."""
    player_names: tuple[str, str] = ("player 0", "player 1")
    """What the players are called, where one plays against the solver."""
    unit_name: str = ""
    """What utilities are counted in, after a space; "" where it has no name."""
    usual: Usual = Usual()
    """How it is solved where nothing is said, and its units."""
    bytes_made: int = 0
    """Bytes that making the rules takes for a while, where they are many."""
    caveat: str = ""
    """What is not exact about it; empty in most games."""

    @property
    def free(self) -> np.ndarray:
        """int64 (cards,): the cards that are neither on the board from the start nor dead."""
        return np.setdiff1d(np.arange(len(self.cards)), (*self.board, *self.dead))

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        """The weights of a player's hands on a board.

        A pair of hands without a common card comes with a board as often as the product of these
        weights says, next to that of :attr:`weights`.  Players who have folded make it so: where
        they hold high cards, fewer of them are left for hands and boards.  Derive for that, where
        :attr:`weights_vary`.

        Args:
            player: The player.
            board: All cards of the board.

        Returns:
            float64 (hands,), above 0; any number for hands with a card of the board.
        """
        return self.weights[player]

    def chips(self, state: Any) -> Chips | None:
        """The chips at a public state; None if the game has none to show."""
        return None

    def described(self, state: Any) -> list[str]:
        """What a player is told of a public state in addition to the board, in a few words each."""
        chips, node = self.chips(state), self.node(state)
        if chips is None or not isinstance(node, Decision):
            return []
        pot = f"pot {chips.pot:.12g}"
        if chips.behind is not None:
            pot += f", {chips.behind[node.player]:.12g} behind"
        return [pot, f"{chips.call:.12g} to call"] if chips.call else [pot]

    def node(self, state: Any) -> Decision | Deal | Fold | Showdown | Runout:
        """Who acts at this public state, whether cards are dealt, or what the end pays.  The
        ``infoset`` of a decision is None: it is what was done so far."""
        return super().node(state)

    def next(self, state: Any, action: Any) -> Any:
        """The public state after an action; after cards were dealt, ``action`` is None."""
        return (*state, action)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """The strength of hands at a showdown.

        Args:
            board: The cards of the board.
            hands: int64 (hands, 1 to 4): hands without a card of the board.

        Returns:
            int64 (hands,): larger wins, equal ties.
        """
        raise NotImplementedError(f"{type(self).__name__} must define strength(board, hands)")

    def runouts(self, cards: int) -> tuple[np.ndarray, np.ndarray]:
        """On how many boards with so many more cards the hands of player 0 win, and tie.

        Every board is asked about, which takes long for a whole deck: derive for that.

        Returns:
            int64 (hands of player 0, hands of player 1) twice; 0 for hands with a common card.
        """
        found = np.zeros((2, *map(len, self.hands)), dtype=np.int64)
        for rest in combinations(self.free.tolist(), cards):
            board = (*self.board, *rest)
            live = [np.flatnonzero(~np.isin(own, rest).any(axis=1)) for own in self.hands]
            pairs = zip(self.hands, live, strict=True)
            one, other = (np.asarray(self.strength(board, hands[at])) for hands, at in pairs)
            found[0][np.ix_(*live)] += one[:, None] > other
            found[1][np.ix_(*live)] += one[:, None] == other
        own, other = self.hands
        found *= ~(own[:, None, :, None] == other[None, :, None, :]).any(axis=(2, 3))
        return found[0], found[1]

    def symmetries(self) -> np.ndarray:
        """Permutations of the cards that change the order of no strengths: of suits, say.

        Those that leave the board and both ranges as they are make boards and hands alike, which
        are then solved once.  The compiler finds these itself; list them all.

        Returns:
            int64 (permutations, cards): what each makes of each card; with every two permutations
            their products.
        """
        return np.arange(len(self.cards))[None]

    def hand_label(self, player: int, hand: int) -> str:
        """The label of a hand: those of its cards."""
        return "".join(str(self.cards[card]) for card in self.hands[player][hand])

    def rows(self) -> Rows | None:
        """Return the betting as rows of numbers, which are counted faster; None if there are none.

        They must say the same as :meth:`root`, :meth:`node` and :meth:`next`.
        """
        return None

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """In what groups the hands of a player are shown on a board, each by what it goes by.

        Of several, the first two are the rows and columns of grids of hands; hands of two cards
        have the usual 13 x 13.  Hands with a card of the board may be in any group.
        """
        return {}

    names_ranges: bool = False
    """Whether :meth:`named_hands` takes ranges, ``"AKs,QQ+"``."""

    def named_hands(self, player: int, text: str) -> np.ndarray:
        """The hands of a player that a text names: ``"*"`` for all, or labels with commas between.

        Returns:
            bool (hands,).

        Raises:
            ValueError: The text is wrong; names the part that is.
        """
        labels = [self.hand_label(player, hand) for hand in range(len(self.hands[player]))]
        if text == "*":
            return np.ones(len(labels), dtype=bool)
        named = text.split(",")
        for label in named:
            if label not in labels:
                raise ValueError(f"there is no hand {label!r}; {suggest(label, labels)}")
        found: np.ndarray = np.isin(labels, named)
        return found


Rules = Game | PublicTreeGame | CardGame
"""The rules of a game of any kind."""
