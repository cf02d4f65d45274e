"""No-limit hold'em of two or three players after the flop, one spot at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ..._util.argument_checks import Check, Flag, Number, Several, Text, brief, checked
from ...rules import CardGame, Chips, Deal, Decision, Defaults, Fold, HandGroups, Showdown, SidePots
from . import betting
from .betting import STREETS, TO_SHOW, WON, SizedBetting, StreetState
from .betting_rows import BettingRows
from .bunching import MAX_FOLDED, Bunching
from .deck import CARDS, HANDS, RANKS, SUITS, hand_label, orders_of_suits, read_cards
from .multiway_betting import MultiwayBetting
from .ranges import read_range
from .sizes import BetSize, read_sizes
from .strength import CATEGORIES, CATEGORY_SHIFT, strengths

PLAYERS = ("oop", "ip")
"""Names of the players by position: player 0, out of position, acts first on every street."""
THREE_PLAYERS = ("first", "middle", "last")
"""Names of three players, in the order in which they act on every street."""
FOLDED = "folded"
"""Name of a third player who has folded."""
LONGEST = 30_000
"""Largest number of characters in a range or in sizes; a range may be 1,326 numbers."""


BETTING = (
    *("pot", "stacks", "chip", "bets", "raises", "donk", "add", "remove"),
    *("add_allin", "force_allin", "merging"),
)
"""Arguments of a spot that its betting depends on, in addition to the street."""


@dataclass(frozen=True)
class _Sizes(Check):
    """Check of sizes: one text for all, or texts by street, by player, or by both."""

    def __call__(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return Text(LONGEST)(name, value)
        if not isinstance(value, Mapping) or not value:
            raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return "sizes such as '60%,a', or a mapping of them by street or player"


SIZES = _Sizes()
LINES = Several(Text(LONGEST), alone=True)
RANGES = Several(Text(LONGEST), length=(2, 3))
"""Ranges of two or of three players."""


class Spot(CardGame):
    """Spot of hold'em or of a similar game; :class:`Holdem` documents the arguments.

    Subclasses define the name of the game, its hands, the notation of ranges, and the strength of
    hands.
    """

    game: ClassVar[str]
    """Name of the game, also in errors."""
    pot_limit: ClassVar[bool] = False
    """True if bets and raises are limited to the pot after a call."""
    lowest: ClassVar[int] = 0
    """Lowest rank of the deck."""
    categories: ClassVar[tuple[str, ...]] = CATEGORIES
    """Categories of hands, the weakest first."""
    examples: ClassVar[tuple[str, str, str]]
    """Ranges with which the form of the viewer begins: of the first, the middle and the last
    player."""

    def __init_subclass__(cls) -> None:
        """Wrap the constructor so that errors about arguments name the game."""
        if "game" in cls.__dict__:
            cls.__init__ = checked(cls.game)(Spot.__init__)  # type: ignore[method-assign]

    @staticmethod
    def every_hand() -> np.ndarray:
        """Return all hands of the deck, int64 or int8 (hands, cards of a hand)."""
        raise NotImplementedError

    @staticmethod
    def read_range(text: str, what: str) -> np.ndarray:
        """Read the weight of every hand in a range, float64 (hands,).

        Args:
            text: The range.
            what: Description of the range in errors.
        """
        raise NotImplementedError

    def __init__(
        self,
        *,
        board: Annotated[str, Text(100)],
        ranges: Annotated[Any, RANGES],
        pot: Annotated[float, Number(most=1e9, above=0)],
        stacks: Annotated[Any, Several(Number(most=1e9, above=0), alone=True)],
        big_blind: Annotated[float | None, Number(above=0, most=1e9)] = None,
        chip: Annotated[float, Number(least=1e-6, most=1e9)] = 1,
        bets: Annotated[Any, SIZES] = "",
        raises: Annotated[Any, SIZES] = "",
        donk: Annotated[Any | None, SIZES] = None,
        rake: Annotated[float, Number(0, 1)] = 0.0,
        rake_cap: Annotated[float, Number(0, 1e9)] = 1e9,
        add_allin: Annotated[float, Number(0, 1e9)] = 1.5,
        force_allin: Annotated[float, Number(0, 1e9)] = 0.15,
        merging: Annotated[float, Number(0, 1e9)] = 0.1,
        add: Annotated[Any, LINES] = (),
        remove: Annotated[Any, LINES] = (),
        dead: Annotated[str, Text(100)] = "",
        folded: Annotated[Any, LINES] = (),
        deal_folded: Annotated[bool, Flag()] = False,
    ) -> None:
        pot, chip = map(_plain, (pot, chip))
        stacks = _plain(stacks[0]) if len(stacks) == 1 else tuple(map(_plain, stacks))
        # All arguments: must come before any other local variable is bound.
        arguments = {name: value for name, value in locals().items() if name != "self"}
        game, default = self.game, inspect.signature(Spot).parameters
        self.options = {
            name: value for name, value in arguments.items() if value != default[name].default
        }
        """Arguments that differ from their defaults; equal spots have equal options."""
        self.cards = CARDS
        self.board = self._read_cards(board, f"{game}: board")
        if not 3 <= len(self.board) <= 5:
            raise ValueError(
                f"{game}: board: {board!r} has {len(self.board)} cards; a board has 3 to 5"
            )
        dead_cards = self._read_cards(dead, f"{game}: dead")
        if repeated := {*dead_cards} & {*self.board}:
            raise ValueError(f"{game}: dead: {CARDS[min(repeated)]} lies on the board")
        self.dead = (*range(len(SUITS) * self.lowest), *dead_cards)
        hands = self.every_hand()
        is_impossible = np.isin(hands, (*self.board, *self.dead)).any(axis=1)
        self.hands, self.weights = [], []
        for player, text in enumerate(ranges):
            range_weights = self.read_range(text, f"{game}: ranges[{player}]")
            live = np.flatnonzero((range_weights > 0) & ~is_impossible)
            if not len(live):
                raise ValueError(f"{game}: ranges[{player}]: {brief(text)} has no hand on {board}")
            self.hands.append(hands[live].astype(np.int64))
            self.weights.append(range_weights[live])
        self.n_betting = len(ranges)
        """Number of players who bet."""
        self.n_players = self.n_betting
        self.player_names = PLAYERS if self.n_players == 2 else THREE_PLAYERS
        self._check_players(stacks)
        names = self.player_names
        if deal_folded:
            self._deal_folded(folded)
        elif folded:
            self._fold(folded)
        self.street = len(self.board) - 3
        self.pot, self.stacks = pot, stacks
        units = {"chips": 1.0, "%": pot / 100.0}
        if big_blind is not None:
            units["mbb"] = big_blind / 1000.0
        # Exploitability is a mean over all players, also over one whose hand is only dealt.
        target = "0.5%" if self.n_players == self.n_betting else "0.33%"
        self.defaults = Defaults("float32", target, units)
        self.rake, self.rake_cap = float(rake), float(rake_cap)
        for what, sizes in (("bets", bets), ("raises", raises), ("donk", donk)):
            _check_sizes(f"{game}: {what}", sizes)
        streets = range(self.street, 3)
        earlier: list[Any] = [None] * self.street
        sizes_of_all = partial(_sizes_of_all, players=names)
        each = stacks if isinstance(stacks, tuple) else (stacks,) * self.n_betting
        in_multiples = tuple(_multiple(f"{game}: stacks", stack, chip) for stack in each)
        kind: Any = SizedBetting
        if self.n_betting > 2:
            kind = partial(MultiwayBetting, stacks=in_multiples)
        self.betting: SizedBetting = kind(
            chip=Decimal(str(chip)),
            pot=_multiple(f"{game}: pot", pot, chip),
            stack=max(in_multiples),
            openers=(0, 0, 0),
            first_street=self.street,
            bets=(*earlier, *(sizes_of_all(f"{game}: bets", bets, street) for street in streets)),
            raises=(
                *earlier,
                *(sizes_of_all(f"{game}: raises", raises, street) for street in streets),
            ),
            donks=(
                *earlier,
                *(_donk_sizes(f"{game}: donk", donk, street, self.street) for street in streets),
            ),
            add_allin=float(add_allin),
            force_allin=float(force_allin),
            merging=float(merging),
            added=_lines(f"{game}: add", add),
            removed=_lines(f"{game}: remove", remove),
            game=game,
            pot_limit=self.pot_limit,
        )

    def _check_players(self, stacks: Any) -> None:
        """Check the options that depend on the number of players."""
        players = self.n_players
        if isinstance(stacks, tuple) and (players == 2 or len(stacks) != players):
            advice = f"give one or {players}" if players > 2 else f"there are {players} players"
            if len(stacks) == players:
                advice = "give the smaller one"
            raise ValueError(f"{self.game}: stacks has {len(stacks)} numbers; {advice}")
        if players == 2:
            return
        if self.hands[0].shape[1] != 2:
            raise ValueError(f"{self.game}: ranges has {players} entries; this game needs two")
        for name in ("donk", "folded"):
            if self.options.get(name) is not None:
                raise ValueError(f"{self.game}: {name} needs two ranges, not {players}")

    def _deal_folded(self, folded: Sequence[str]) -> None:
        """Add a third player with a folded range, who never acts."""
        if len(folded) != 1 or self.n_players > 2:
            raise ValueError(
                f"{self.game}: deal_folded needs two ranges and one folded range, not "
                f"{self.n_players} and {len(folded)}"
            )
        if self.hands[0].shape[1] != 2:
            raise ValueError(f"{self.game}: deal_folded is for games whose hands have two cards")
        weights, hands = self.read_range(folded[0], f"{self.game}: folded[0]"), self.every_hand()
        is_impossible = np.isin(hands, (*self.board, *self.dead)).any(axis=1)
        live = np.flatnonzero((weights > 0) & ~is_impossible)
        if not len(live):
            raise ValueError(
                f"{self.game}: folded: the board and the dead cards leave no hand of a range"
            )
        self.hands = [*self.hands, hands[live]]
        self.weights = [*self.weights, weights[live]]
        self.n_players, self.player_names = 3, (*PLAYERS, FOLDED)

    def _fold(self, folded: Sequence[str]) -> None:
        """Weight the hands by the effect of players who folded these ranges.

        Hands that the folded players rule out are removed.
        """
        what, width = f"{self.game}: folded", self.hands[0].shape[1]
        if width != 2:
            raise ValueError(f"{what} is for games whose hands have two cards")
        if len(folded) > MAX_FOLDED:
            raise ValueError(f"{what}: {len(folded)} players; at most {MAX_FOLDED} can fold")
        range_bytes = [
            self.read_range(text, f"{what}[{n}]").tobytes() for n, text in enumerate(folded)
        ]
        try:
            self._folded = _folded_effect(
                self.every_hand, tuple(range_bytes), (*self.board, *self.dead)
            )
            possible = [self._folded.share(hands) > 0.0 for hands in self.hands]
            for player, mask in enumerate(possible):
                if not mask.any():
                    raise ValueError(f"they hold a card of every hand of ranges[{player}]")
            self.hands = [hands[mask] for hands, mask in zip(self.hands, possible, strict=True)]
            self.weights = [
                weights[mask] for weights, mask in zip(self.weights, possible, strict=True)
            ]
            self.of_deal = self._folded.of_deal(self.hands, self.weights)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        # From here on the weights depend on the board.
        self._range_weights, self.bytes_made = self.weights, self.of_deal.nbytes
        self.weights_vary = True
        self.weights = [self.weights_on(player, self.board) for player in range(len(self.hands))]

    def _read_cards(self, text: str, what: str) -> tuple[int, ...]:
        """Read the numbers of cards, all of which must be in the deck."""
        cards = read_cards(text, what)
        for card in cards:
            if card < len(SUITS) * self.lowest:
                raise ValueError(
                    f"{what}: {CARDS[card]} is not in the deck, whose lowest rank is "
                    f"{RANKS[self.lowest]}"
                )
        return cards

    unit_name = " chips"
    names_ranges = True

    def chips(self, state: StreetState) -> Chips:
        """Return the pot, the chips to call, and the chips that each player has left."""
        betting, paid = self.betting, self.betting.paid(state)
        chip = float(betting.chip)
        call = max(paid) - paid[state.player] if state.player >= 0 else 0
        left = betting.left(state)
        if state.player >= 0:
            call = min(call, left[state.player])
        behind = tuple(amount * chip for amount in left)
        return Chips((betting.pot + sum(paid)) * chip, call * chip, behind)

    @property
    def pot_value(self) -> float:
        """Worth of the pot at the start, in the unit of values: its chips."""
        return self.pot

    def put_in(self, state: StreetState) -> tuple[float, ...]:
        """Return the chips that each player has put into the pot.

        Each player counts for an equal part of the pot at the start of the spot.
        """
        chip, part = float(self.betting.chip), self.pot / self.n_betting
        put_in = tuple(part + chip * amount for amount in self.betting.paid(state))
        return put_in + (0.0,) * (self.n_players - self.n_betting)

    @property
    def name(self) -> str:
        """Game and board: ``holdem Td9d6hQc``."""
        return f"{self.game} " + "".join(CARDS[card] for card in self.board)

    def root(self) -> StreetState:
        """Return the state at the start of the spot; player 0 acts."""
        return self.betting.root()

    def node(self, state: StreetState) -> Decision | Deal | Fold | Showdown | SidePots:
        """Return the decision, the next deal, or the payoffs at the end."""
        if state.player >= 0:
            return Decision(state.player, None, self.betting.actions(state))
        if state.player == betting.TO_DEAL:
            return Deal()
        if isinstance(self.betting, MultiwayBetting):
            return self._side_pots(self.betting, state)
        pot_amount = self.betting.pot + 2 * min(self.betting.paid(state))
        pot = float(pot_amount * self.betting.chip)
        rake = min(self.rake * pot, self.rake_cap)
        won, lost = pot / 2.0 - rake, -pot / 2.0
        if self.n_players > self.n_betting:
            if state.player == betting.TO_SHOW:
                return SidePots(((pot - rake, (0, 1)),), (pot / 2.0, pot / 2.0, 0.0))
            utilities = (won, lost) if state.player == betting.WON else (lost, won)
            return Fold((*utilities, 0.0))
        if state.player == betting.TO_SHOW:
            tied = -rake / 2.0
            return Showdown((won, lost), (tied, tied), (lost, won))
        return Fold((won, lost) if state.player == betting.WON else (lost, won))

    def _side_pots(self, betting: MultiwayBetting, state: Any) -> Fold | SidePots:
        """Return the payoffs at the end between three players."""
        chip = float(betting.chip)
        pots, uncalled = betting.pots(state)
        total = chip * sum(amount for amount, _ in pots)
        kept = 1.0 - min(self.rake * total, self.rake_cap) / total
        # Chips, also in tournaments, where the method of the class is about utilities.
        paid = list(Spot.put_in(self, state))
        paid[int(np.argmax(paid))] -= chip * uncalled
        won = tuple((chip * amount * kept, competing) for amount, competing in pots)
        if state.player == TO_SHOW:
            return SidePots(won, tuple(paid))
        winner, utilities = WON - state.player, [-amount for amount in paid]
        utilities[winner] += sum(amount for amount, _ in won)
        return Fold(tuple(utilities))

    def next(self, state: StreetState, action: str | None) -> StreetState:
        """Return the state after an action, or after a card is dealt (None)."""
        return self.betting.next(state, betting.DEAL if action is None else action)

    @property
    def _has_own_betting(self) -> bool:
        """True if a subclass overrides the betting or the payoffs."""
        kind = type(self)
        return (kind.root, kind.node, kind.next) != (Spot.root, Spot.node, Spot.next)

    @property
    def betting_key(self) -> Hashable:
        """Sizes and rake, which determine the betting; None if a subclass overrides the rules."""
        rake = (self.rake, self.rake_cap)
        return None if self._has_own_betting else (type(self.betting), self.betting, rake)

    def with_options(self, **changes: Any) -> Spot:
        """Return the spot with other ranges, another board of the same street or other payoffs.

        Args:
            changes: Arguments of the spot.

        Raises:
            ValueError: An argument changes the betting, or is wrong; names it.
            TypeError: There is no such argument, or it has a wrong type.
        """
        for name in changes:
            if name in BETTING:
                raise ValueError(
                    f"{self.game}: {name} changes the betting: compile that spot by itself"
                )
        changed = type(self)(**(self.options | changes))
        counts = {
            "cards on the board": (len(self.board), len(changed.board)),
            "ranges": (self.n_betting, changed.n_betting),
            "players": (self.n_players, changed.n_players),
        }
        for what, (count, other_count) in counts.items():
            if count != other_count:
                raise ValueError(
                    f"{self.game}: the betting is for {count} {what}, not {other_count}"
                )
        return changed

    def rows(self) -> BettingRows | None:
        """Return the betting as rows; None if a subclass overrides the rules."""
        if self._has_own_betting or self.n_players > 2:
            return None
        return BettingRows(self.betting)

    def symmetries(self) -> np.ndarray:
        """Return the permutations of the suits, int64 (permutations, cards).

        With folded players, only permutations that preserve the folded ranges are returned.
        """
        if self.weights_vary:
            return self._folded.symmetries
        return orders_of_suits(len(RANKS), len(SUITS))

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        """Return the weights of a player's hands on a board, float64 (hands,).

        They are the weights in the range, times the factors of
        :class:`~tensorcfr.games.poker.bunching.Bunching` if players have folded.
        """
        if not self.weights_vary:
            return self.weights[player]
        likelihood = self._folded.likelihood(board[len(self.board) :], self.hands[player])
        weights: np.ndarray = (
            self._range_weights[player] * self.of_deal.factors[player] * likelihood
        )
        return weights

    @property
    def caveat(self) -> str:  # type: ignore[override]
        """Error of the weights of pairs of hands, in words; empty without folded players."""
        if not self.weights_vary:
            return ""
        mean_error, largest_error = 100.0 * self.of_deal.lost, 100.0 * self.of_deal.most
        return (
            "The players who folded change how likely pairs of hands are, to within "
            f"{mean_error:.2g} % on average and {largest_error:.2g} % at most."
        )

    def hand_label(self, player: int, hand: int) -> str:
        """Return the label of a hand: ``"AsKd"``."""
        return hand_label(self.hands[player][hand])

    def groups(self, player: int, board: tuple[int, ...]) -> Mapping[str, HandGroups]:
        """Return the groups ``"made"``: the categories of hands in the first ranking, the strongest
        first."""
        category = self.strengths(board, self.hands[player])[0] >> CATEGORY_SHIFT
        names = self.categories[::-1]
        return {"made": HandGroups(names, len(names) - 1 - category)}

    def named_hands(self, player: int, text: str) -> np.ndarray:
        """Return a mask of the hands that a text names, bool (hands,).

        Args:
            player: The player.
            text: ``"*"`` for all hands, or a range without weights, ``"AA-TT,AKs"``.

        Raises:
            ValueError: The text is not a range, or the range has weights.
        """
        if text == "*":
            return np.ones(len(self.hands[player]), dtype=bool)
        weights = self.read_range(text, "hands")
        if not np.isin(weights, (0.0, 1.0)).all():
            raise ValueError(f"hands: {brief(text)} has weights, but a lock names whole hands")
        named, hands = self.every_hand()[weights > 0.0], self.hands[player]
        return np.isin(_codes(hands), _codes(named))


@lru_cache(maxsize=4)
def _folded_effect(
    every_hand: Callable[[], np.ndarray], ranges: tuple[bytes, ...], known: tuple[int, ...]
) -> Bunching:
    """Return the effect of folded players, cached because the same spot is built repeatedly.

    Args:
        every_hand: Function that returns all hands of the deck.
        ranges: Bytes of float64 (hands,) for each folded player.
        known: Cards of the board and dead cards.
    """
    return Bunching(every_hand(), [np.frombuffer(weights) for weights in ranges], known)


def _codes(hands: np.ndarray) -> np.ndarray:
    """Return a number for each hand, int64 (hands,); cards are ordered as in ``every_hand``."""
    codes: np.ndarray = hands @ len(CARDS) ** np.arange(hands.shape[1])
    return codes


class Holdem(Spot):
    """Hold'em between two or three players from the flop, the turn or the river on.

    The players hold two cards each from a range; the pot and the stacks are those at the start of
    the spot.  Player 0 is out of position and acts first on every street, and three players act in
    their order.  Actions are ``fold``,
    ``check``, ``call``, ``bet120``, ``raise300`` (to 300 chips on this street) and ``allin``.
    Utilities are chips.  The starting pot counts as a contribution of all players in equal parts,
    so that without rake utilities sum to 0.  Three players have side pots; options that they do
    not have are refused.

    Args:
        board: Three, four or five cards, ``"Td9d6hQc"``.
        ranges: Ranges of the two or three players, in the notation of
            :func:`~tensorcfr.games.poker.ranges.read_range`.
        pot: Chips in the pot.
        stacks: Chips that each player has left, as one number; of two unequal stacks, give the
            smaller.  For three players, one number or three.
        big_blind: Chips of the big blind, needed for amounts in ``mbb`` (thousandths of it).
        chip: Smallest chip: pot and stacks must be multiples of it, and bets are rounded to
            multiples.
        bets: Sizes of bets, in the notation of :func:`~tensorcfr.games.poker.sizes.read_sizes`:
            one text for all, or a mapping by street (``flop``, ``turn``, ``river``) or by player
            (``oop``, ``ip``; of three ``first``, ``middle``, ``last``).  Mappings may be nested to
            set sizes by both.
        raises: Sizes of raises, in the same form.
        donk: Sizes of donk bets: opening bets of player 0 on the turn or the river, after calling
            the last bet of the street before.  They do not apply to the first street of the spot.
            None for the sizes in ``bets``.
        rake: Share of the pot that the house takes from the winner.
        rake_cap: Largest rake, in chips.
        add_allin: Multiple of the pot: all-in is added as a size if it is at most that large.
        force_allin: Share of the pot after a call: a size becomes all-in if at most that share
            would be left behind.
        merging: Threshold below which a size is dropped next to a larger one; 0 keeps all sizes.
        add: Lines to add by hand: ``("check bet75",)`` adds a bet of 75 after a check.  Lines do
            not contain the cards that are dealt.
        remove: Lines to remove by hand, in the same form.
        dead: Cards that are known to be elsewhere, ``"2c2d"``: no hand has them, and they are not
            dealt.
        folded: Ranges of up to four players who folded earlier, with the hands that they fold (not
            the hands that they play).  They change the probabilities of hands and boards; see
            :mod:`tensorcfr.games.poker.bunching`.
        deal_folded: True to deal the hand of one folded player, as a third player (``folded``) who
            never acts and whose utility is 0.  Then the probabilities of hands and boards are
            exact.  An iteration takes some seven times as long, and the game has three players.

    Source: the rules of sizes are those of postflop-solver (W. Inariba, 2022).
    """

    game = "holdem"
    examples = (
        "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
        "JJ-77,AQs-ATs,KQs-KTs,QJs,JTs,T9s",
        "22+,A2s+,ATo+,K9s+,KJo+,Q9s+,QJo,J9s+,T8s+,97s+,86s+,76s,65s",
    )

    @staticmethod
    def every_hand() -> np.ndarray:
        """Return :data:`~tensorcfr.games.poker.deck.HANDS`, int64 (1326, 2)."""
        return HANDS

    @staticmethod
    def read_range(text: str, what: str) -> np.ndarray:
        """Read a range with :func:`~tensorcfr.games.poker.ranges.read_range`, float64 (1326,)."""
        return read_range(text, what)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of each hand on the board, int64 (hands,).

        The ranking is that of :func:`~tensorcfr.games.poker.strength.strengths`.
        """
        return strengths(np.array(board, dtype=np.int64), hands)


def _plain(number: float) -> float:
    """Return a number as an int if it is whole, else as a float."""
    return int(number) if number == int(number) else float(number)


def _multiple(what: str, chips: float, chip: float) -> int:
    """Convert chips to a multiple of the smallest chip."""
    number = Decimal(str(chips)) / Decimal(str(chip))
    if number != int(number):
        raise ValueError(
            f"{what} must be a multiple of the smallest chip {chip}, not {chips}; "
            "pass a smaller one, for example chip=0.1"
        )
    return int(number)


def _sizes_for(
    what: str, sizes: Any, street: int, player: int, players: tuple[str, ...] = PLAYERS
) -> tuple[str, Any]:
    """Return the description in errors and the text of sizes for a street and a player."""
    where = what
    for _ in range(2):
        if not isinstance(sizes, Mapping):
            break
        for key in sizes:
            if key not in (*STREETS, *players):
                raise ValueError(
                    f"{where} is for {', '.join((*STREETS, *players))}, not {brief(key)}"
                )
        keys = [key for key in (STREETS[street], players[player]) if key in sizes]
        if not keys:
            raise ValueError(
                f"{where} has no sizes for {players[player]} on the {STREETS[street]}: "
                f"give {STREETS[street]!r} or {players[player]!r}, which may be ''"
            )
        if len(keys) == 2:
            raise ValueError(f"{where} must be by street or by player, not by both at once")
        where, sizes = f"{where}[{keys[0]!r}]", sizes[keys[0]]
    return where, sizes


def _check_sizes(what: str, sizes: Any) -> None:
    """Check all sizes, including those of streets before the spot, which are not read elsewhere."""
    if isinstance(sizes, Mapping):
        for key, entry in sizes.items():
            _check_sizes(f"{what}[{brief(key)}]", entry)
    elif sizes is not None:
        read_sizes(sizes, what, raises=": raises" in what)


def _sizes_of_all(
    what: str, sizes: Any, street: int, players: tuple[str, ...]
) -> tuple[tuple[BetSize, ...], ...]:
    """Return the sizes of all players on a street."""
    read = partial(read_sizes, raises=what.endswith(": raises"))
    of_players = (
        _sizes_for(what, sizes, street, player, players) for player in range(len(players))
    )
    return tuple(read(text, where) for where, text in of_players)


def _donk_sizes(
    what: str, sizes: Any, street: int, first_street: int
) -> tuple[BetSize, ...] | None:
    """Return the donk sizes of a street; None if the street has no separate ones."""
    if sizes is None or street == first_street:
        return None
    if isinstance(sizes, Mapping) and STREETS[street] not in sizes and sizes:
        for key in sizes:
            if key not in STREETS[1:]:
                raise ValueError(f"{what} is for the turn and the river, not {brief(key)}")
        return None
    where, text = _sizes_for(what, sizes, street, 0)
    return None if text is None else read_sizes(text, where, raises=False)


def _lines(what: str, lines: Any) -> tuple[tuple[str, ...], ...]:
    """Split each line into its actions."""
    for line in lines:
        if not line.split():
            raise ValueError(f"{what} takes lines such as 'check bet75', not {brief(line)}")
    return tuple(tuple(line.split()) for line in lines)
