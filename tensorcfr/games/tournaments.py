"""Tournaments: utilities of card games that follow from the stacks at the end of a hand.

A hand is between two players, or three; other players with chips are outside it.
:func:`tournament` makes a game with other utilities from any :class:`~tensorcfr.CardGame`: the
utility of a player is a function of all stacks after the hand, less the same function of the stacks
before it.  By default this function is the expected prize money (:func:`icm`).  Built-in card games
take the arguments of :func:`tournament` as parameters, ``compile_game("push_or_fold", payouts=(50,
30), others=(8,))``.

Rules:

* ``payouts`` are the prizes that are still to be won, from the first place down.  Players who are
  out, and their prizes, are left out.
* ``others`` are the chips that the players outside the hand have left.  Their blinds and antes in
  this hand are part of the pot.  Players who are all-in elsewhere count with the chips that they
  had before.
* A player without chips is out and gets the lowest place.  Of two players who lose all chips in
  one hand, the one who had more chips before gets the better place; with equal stacks they share
  the places.
* ``bounties`` are progressive: half of the bounty is paid at once to the player who eliminates
  another, and half is added to the own bounty.  :func:`bounty_equities` estimates later bounties.
* Rake leaves the tournament: the stacks after the hand sum to less.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Number, Several, brief, checked
from .._util.number_lists import read_numbers
from ..rules import CardGame, Deal, Decision, Defaults, Fold, Runout, Showdown, SidePots, StateRows
from .poker.prize_money import (
    AMOUNTS,
    MOST_AMOUNT,
    Amounts,
    PrizeMoney,
    Risk,
    bounty_equities,
    icm,
    risk,
)
from .poker.spot import Spot

__all__ = ["PrizeMoney", "Risk", "Tournament", "bounty_equities", "icm", "risk", "tournament"]

DECIMALS = 9
"""Decimal places to which stacks are rounded, so that a player who loses all chips has 0."""
POT = "% of the pot"
"""Unit of amounts: a hundredth of the utility that the pot at the start of a spot is worth."""
ALGORITHM = "dcfr"
"""Default algorithm.  The default of other card games was chosen in zero-sum games.  It discounts
negative regrets more slowly, and stalls above 0.5 % of the pot in some tournaments."""
STACKS = Several(Number(above=0, most=MOST_AMOUNT), alone=True)
OTHERS = Several(Number(above=0, most=MOST_AMOUNT))
Utility = Callable[[tuple[float, ...]], Sequence[float]]
"""Function from the stacks of all players after a hand to utilities.  The players in the
hand come first; utilities of others are ignored."""


class Tournament(CardGame):
    """Card game whose utilities follow from the stacks after the hand; :func:`tournament` makes it.

    Cards, hands and betting are those of the game without the tournament.  The class of a game is
    derived from this class and from the class of the game without the tournament.
    """

    chip_rules: CardGame
    """Rules of the game without the tournament, whose utilities are chips."""
    stacks_before: tuple[float, ...]
    """Chips of all players, those of the hand first, for which utilities are 0.  In a spot, equal
    parts of the pot belong to the players."""
    utilities_before: tuple[float, ...]
    """Utility function of the players in the hand for :attr:`stacks_before`."""

    def __init__(self, **arguments: Any) -> None:
        game_class = type(self).__bases__[1]
        self.__dict__.update(make_tournament(game_class, arguments).__dict__)

    def _enter(self, rules: CardGame, options: Mapping[str, Any]) -> None:
        """Copy the rules of a hand, and set the utilities."""
        self.__dict__.update(rules.__dict__)
        self.chip_rules, self.pays_by_order = rules, rules.n_players > 2
        own_stacks = options["stacks"]
        if isinstance(rules, Spot) and rules.n_players > rules.n_betting:
            raise ValueError(f"{rules.name}: deal_folded is for chips, not for prizes")
        part_of_pot = rules.pot / rules.n_players if isinstance(rules, Spot) else 0.0
        self.stacks_before = (
            *(stack + part_of_pot for stack in own_stacks),
            *options["others"],
        )
        players = len(self.stacks_before)
        utility = options["utility"]
        if utility is None:
            bounties = options["bounties"]
            if bounties and len(bounties) != players:
                raise ValueError(
                    f"bounties has {len(bounties)} amounts, but stacks and others have {players} "
                    "players"
                )
            if bounties and rules.n_players > 2:
                raise ValueError(f"bounties are for two players, not {rules.n_players}")
            before = self.stacks_before if rules.n_players > 2 else ()
            utility = PrizeMoney(options["payouts"], bounties, before)
        self._utility, self._known = utility, dict[tuple[float, ...], tuple[float, ...]]()
        self._given = {name: value for name, value in options.items() if value not in (None, ())}
        if len(set(own_stacks)) == 1:
            self._given["stacks"] = own_stacks[0]
        self.utilities_before = nothing = (0.0,) * rules.n_players
        self.utilities_before = self.utilities(nothing)
        self.unit_name = " in prizes" if isinstance(utility, PrizeMoney) else ""
        units = {}
        if isinstance(utility, PrizeMoney):
            units = {"prizes": 1.0, "%": utility.pool(players) / 100.0}
        target = rules.defaults.target
        if isinstance(rules, Spot):
            # Row p: player p wins the pot, and the others lose their parts.
            change = part_of_pot * (rules.n_players * np.eye(rules.n_players) - 1.0)
            won = np.array([self.utilities(tuple(row)) for row in change.tolist()])
            lost = (won.sum(axis=0) - won.diagonal()) / (rules.n_players - 1)
            worth = float(np.mean(won.diagonal() - lost))
            units[POT] = max(worth, np.finfo(np.float64).tiny) / 100.0
            target = None if target is None else f"{target} of the pot"
        else:
            target = None
        self.defaults = Defaults(rules.defaults.precision, target, units, ALGORITHM)

    @property
    def prizes_before(self) -> tuple[float, ...] | None:
        """Expected prize money of all players for :attr:`stacks_before`, the players in the hand
        first; None if the utility is another function."""
        if not isinstance(self._utility, PrizeMoney):
            return None
        return tuple(self._utility(self.stacks_before).tolist())

    @property
    def risks(self) -> Risk | None:
        """Price of chips between each pair of players for :attr:`stacks_before`, in the same order;
        None if the utility is another function."""
        if not isinstance(self._utility, PrizeMoney):
            return None
        return risk(self.stacks_before, self._utility.payouts, self._utility.bounties)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of the game that differ from their defaults.

        Raises:
            TypeError: The utility is a function, which cannot be written as text.
        """
        if "utility" in self._given:
            raise TypeError(
                f"utility= of {self.name} is a function, which has no text: give the game itself"
            )
        options: dict[str, Any] = getattr(self.chip_rules, "options", {}) | self._given
        return options

    def utilities(self, change: tuple[float, ...]) -> tuple[float, ...]:
        """Return the utility of each player if the stacks have changed by some chips.

        Args:
            change: Chips that each player in the hand has won, negative for chips lost.

        Raises:
            ValueError: A player loses more chips than the stack, or the utility function does not
                return a finite number for each player; names the stacks.
        """
        players = len(change)
        own_stacks, others = self.stacks_before[:players], self.stacks_before[players:]
        pairs = zip(own_stacks, change, strict=True)
        stacks = tuple(round(stack + won, DECIMALS) for stack, won in pairs)
        if stacks not in self._known:
            for player in range(players):
                if stacks[player] < 0.0:
                    raise ValueError(
                        f"stacks: player {player} has {self.stacks_before[player]:g} chips and "
                        f"can lose {-change[player]:g}"
                    )
            self._known[stacks] = _read_utilities(self._utility, (*stacks, *others), players)
        before, after = self.utilities_before, self._known[stacks]
        return tuple(late - early for late, early in zip(after, before, strict=True))

    def node(self, state: Any) -> Decision | Deal | Fold | Showdown | SidePots | Runout:
        """Return the node of the game without the tournament, with the utilities of the stacks."""
        node = super().node(state)
        if isinstance(node, Fold):
            return Fold(self.utilities(node.utilities))
        if isinstance(node, SidePots):
            return node._replace(utility=self.utilities)
        if isinstance(node, Showdown):
            return Showdown(*(_pair(self.utilities(change)) for change in node))
        if isinstance(node, Runout):
            win, tie, lose = (_pair(self.utilities(change)) for change in node[:3])
            return Runout(win, tie, lose, node.cards)
        return node

    @property
    def betting_key(self) -> Hashable:
        """None: the utilities are a function, which has no key."""
        return None

    def rows(self) -> StateRows | None:
        """Return the betting as rows, which has no utilities."""
        return self.chip_rules.rows()

    def put_in(self, state: Any) -> tuple[float, ...]:
        """Return the utility that each player loses by giving up the chips put into the pot.

        Of three players, the others get them in equal parts.
        """
        rules = self.chip_rules
        if not isinstance(rules, Spot):
            raise TypeError(f"{self.name} has no pot")
        losses, others = [], rules.n_players - 1
        for player, put in enumerate(rules.put_in(state)):
            raked = min(rules.rake * rules.n_players * put, rules.rake_cap)
            change = [(put - raked) / others] * rules.n_players
            change[player] = -put
            losses.append(-self.utilities(tuple(change))[player])
        return tuple(losses)

    @property
    def pot_value(self) -> float:
        """Utility of winning the pot at the start of a spot instead of losing it, as the mean of
        all players, and of all who may win it instead."""
        return 100.0 * self.defaults.units[POT]

    @property
    def caveat(self) -> str:  # type: ignore[override]
        """Caveat of the game without the tournament, and of its utilities."""
        parts = [self.chip_rules.caveat]
        if isinstance(self._utility, PrizeMoney):
            parts.append(MODEL)
        return "  ".join(filter(None, parts))


MODEL = (
    "Prizes are expected by the independent chip model, in which skill, position and blinds do not "
    "count."
)
"""Caveat of games whose utilities are prize money."""


@checked()
def tournament(
    rules: Annotated[CardGame, Kind((CardGame,), "a game of cards")],
    *,
    stacks: Annotated[Any, STACKS],
    payouts: Annotated[Amounts, AMOUNTS] = (),
    others: Annotated[Amounts, OTHERS] = (),
    bounties: Annotated[Amounts, AMOUNTS] = (),
    utility: Annotated[Utility | None, Kind((Callable,), "a function of stacks")] = None,
) -> CardGame:
    """Return a game of cards as a hand of a tournament: utilities follow from the final stacks.

    Args:
        rules: The game, whose utilities are chips won.
        stacks: Chips of each player if they win nothing, as one number or one for each player.  In
            a spot they are the chips behind, in addition to the pot.  A built-in game of two
            players that has a parameter ``stacks`` itself is played for the smaller one.
        payouts: Prizes that are still to be won, from the first place down, in any unit.
        others: Chips of each player who is not in the hand.
        bounties: Bounty on each player, in the order of ``stacks`` and ``others``, in the unit of
            ``payouts``.
        utility: Function of the stacks of all players after the hand, in the same order.  It
            returns the utility of each player, or of the players in the hand, in place of
            ``payouts`` and ``bounties``.

    Returns:
        Rules of the same class as ``rules``, and of the class :class:`Tournament`.

    Raises:
        ValueError: An argument is wrong, or a player can lose more chips than the stack.
        TypeError: An argument has a wrong type.
    """
    has_prizes = len(payouts) > 0 or len(bounties) > 0
    if utility is None and not has_prizes:
        raise ValueError("payouts must contain a prize, or give bounties or utility")
    if utility is not None and has_prizes:
        raise ValueError("utility takes the place of payouts and bounties: do not give both")
    if isinstance(rules, Tournament):
        raise TypeError(f"rules must not be a tournament already, as {brief(rules)} is")
    players = rules.n_players
    if rules.rankings > 1:
        # A mean of prizes would need the stacks after every combination of the rankings.
        raise ValueError(
            f"{rules.name} has {rules.rankings} rankings of the hands, so its payoffs must be "
            "chips, not a function of stacks"
        )
    if len(stacks) not in (1, players):
        raise ValueError(f"stacks must be one number or {players}, not {len(stacks)}")
    options = {
        "stacks": tuple(stacks) if len(stacks) == players else tuple(stacks) * players,
        "payouts": tuple(payouts),
        "others": tuple(others),
        "bounties": tuple(bounties),
        "utility": utility,
    }
    game_class: Any = type(rules)
    kind = _class_of(game_class)
    hand = kind.__new__(kind)
    hand._enter(rules, options)
    return hand


OPTIONS = tuple(inspect.signature(tournament).parameters)[1:]
"""Arguments of :func:`tournament` after the rules, which built-in games of cards take, too."""


def make_tournament(make: Callable[..., Any], arguments: Mapping[str, Any]) -> CardGame:
    """Return a built-in game of cards as a hand of a tournament.

    Raises:
        ValueError: An argument is wrong or missing; names it.
        TypeError: An argument has a wrong type.
    """
    game_arguments = {name: value for name, value in arguments.items() if name not in OPTIONS}
    options = {name: value for name, value in arguments.items() if name in OPTIONS}
    parameter = inspect.signature(make).parameters.get("stacks")
    if parameter is not None:
        options["stacks"] = stacks = STACKS("stacks", options.get("stacks", parameter.default))
        # Two players can bet no more than the smaller stack.
        game_arguments["stacks"] = stacks if len(stacks) > 2 else min(stacks)
    if "stacks" not in options:
        raise ValueError("stacks must be given with payouts, bounties or utility")
    return tournament(make(**game_arguments), **options)


def read_amounts(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return options with the numbers of texts, ``"50,30,20"``, for amounts of several players.

    Args:
        options: Options of a game by name.  A single number of ``stacks`` is for both players.
        prefix: Text before the name of an option in errors.

    Raises:
        ValueError: A part of a text is not a number; names the option and the part.
    """
    numbers = {
        name: read_numbers(f"{prefix}{name}", options[name])
        for name in ("stacks", "payouts", "others", "bounties")
        if isinstance(options.get(name), str)
    }
    if len(stacks := numbers.get("stacks", ())) == 1:
        return {**options, **numbers, "stacks": stacks[0]}
    return {**options, **numbers}


def is_tournament(make: Callable[..., Any], arguments: Mapping[str, Any]) -> bool:
    """Return whether arguments of a built-in game of cards are those of a tournament."""
    parameters = inspect.signature(make).parameters
    return any(name in OPTIONS and name not in parameters for name in arguments)


@cache
def _class_of(kind: Any) -> type[Tournament]:
    """Return the class of tournaments for a class of games."""
    return type(kind.__name__, (Tournament, kind), {"__module__": kind.__module__})


def _pair(utilities: tuple[float, ...]) -> tuple[float, float]:
    """Return the utilities of two players."""
    first, second = utilities
    return first, second


def _read_utilities(utility: Utility, stacks: tuple[float, ...], players: int) -> tuple[float, ...]:
    """Return the utilities of the players in the hand."""
    result = utility(stacks)
    try:
        utilities = tuple(float(number) for number in tuple(result)[:players])
        if len(utilities) < players:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"utility must return a number for each player, not {brief(result)} for {stacks}"
        ) from None
    if not np.isfinite(utilities).all():
        raise ValueError(f"utility must be finite, not {utilities} for {stacks}")
    return utilities
