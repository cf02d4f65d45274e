"""Incentives: payments to a player for taking an action, which make an equilibrium lean towards it.

A player who is paid for calls calls more, most of all with hands for which a call costs little.
:func:`with_incentives` makes a game with other utilities from any rules.  A payment is part of the
utility of the player who acts, and nobody pays it, so the game has no constant sum.
:func:`tensorcfr.analysis.incentive_prices` returns the loss of such a player in the game without
payments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Several, Text, brief, checked
from ..rules import (
    Chance,
    Deal,
    Decision,
    Fold,
    Payoff,
    Rules,
    Runout,
    Showdown,
    SidePots,
    StateRows,
    Terminal,
)
from .poker.betting import ALL_IN, BET, CALL, RAISE, STREETS
from .poker.spot import Spot

OPTION = "incentives"
"""Parameter of built-in games."""
START = "start"
"""Line before the first action."""
MOST_STATES = 200_000
"""Largest number of states that are searched for the action of an incentive."""
INCENTIVES = Several(Text(300), alone=True)
_PAYMENT = (
    r"(?P<payment>(?:(?P<street>flop|turn|river)\s+)?(?P<action>\S.*?)\s+"
    r"(?P<amount>[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s+after\s+(?P<line>\S.*))?)"
)
"""Pattern of an incentive without its player."""


@dataclass(frozen=True)
class Incentive:
    """Payment to a player for each time that they take an action."""

    text: str
    """The incentive in words."""
    payment: str
    """The incentive without its player."""
    player: int
    """Player who is paid."""
    street: str
    """``"flop"``, ``"turn"`` or ``"river"``; empty for all."""
    action: str
    """Label of the action, or its word: ``"bet"`` is any bet and ``"raise"`` any raise, all-ins
    included."""
    amount: float
    """Payment, in the unit of the game's utilities."""
    line: tuple[str, ...] | None
    """All actions of players before this one; None for any."""

    @classmethod
    def read(cls, text: str, players: Sequence[str]) -> Incentive:
        """Read an incentive.

        >>> Incentive.read("ip river call +2.5", ("oop", "ip")).amount
        2.5

        Args:
            text: ``"PLAYER [STREET] ACTION AMOUNT [after LINE]"``; the amount has a sign.
            players: Names of the players; their numbers are names, too.

        Raises:
            ValueError: The text is not an incentive.
        """
        by_name = {name: k for k, name in enumerate(players)}
        by_name |= {str(k): k for k in range(len(players))}
        # Names may have blanks, and one name may begin with another one.
        known = "|".join(map(re.escape, sorted(by_name, key=len, reverse=True)))
        match = re.fullmatch(rf"(?P<player>{known}|\S+)\s+{_PAYMENT}", text.strip())
        if not match or not np.isfinite(float(match["amount"])):
            raise ValueError(
                f"{OPTION}: {brief(text)} is not an incentive such as '{players[-1]} call +2' or "
                f"'{players[0]} raise -0.5 after check bet'"
            )
        player = by_name.get(match["player"])
        if player is None:
            raise ValueError(
                f"{OPTION}: {brief(text)}: there is no player {brief(match['player'])}, but "
                f"{', '.join(by_name)}"
            )
        line = match["line"]
        steps = None if line is None else tuple(line.split()) if line != START else ()
        return cls(
            text.strip(),
            match["payment"],
            player,
            match["street"] or "",
            match["action"],
            float(match["amount"]),
            steps,
        )

    @staticmethod
    def check_payment(text: str) -> None:
        """Check the words of an incentive after its player.

        Raises:
            ValueError: The text is not such an incentive.
        """
        match = re.fullmatch(_PAYMENT, text.strip())
        if not match or not np.isfinite(float(match["amount"])):
            raise ValueError(
                f"{OPTION}: {brief(text)} is not an incentive such as 'call +2' or "
                "'raise -0.5 after check bet'"
            )

    def takes(self, action: str, actions: Sequence[str]) -> bool:
        """Return whether an action is the one of this incentive."""
        if action == ALL_IN and self.action in (BET, RAISE):
            return self.action == (RAISE if CALL in actions else BET)
        return self.action in (action, action.rstrip("0123456789."))


class PaidState:
    """State of the rules, with the payments so far.

    All other attributes are those of the state.
    """

    __slots__ = ("paid", "pending", "state")

    def __init__(
        self, state: Any, paid: tuple[float, ...], pending: tuple[tuple[int, int], ...]
    ) -> None:
        self.state = state
        self.paid = paid
        """Payments to each player so far."""
        self.pending = pending
        """Index of each incentive whose line may still be completed, and the number of its actions
        that were taken."""

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "state"), name)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.state, self.paid, self.pending

    def __eq__(self, compared: object) -> bool:
        return isinstance(compared, PaidState) and self._key == compared._key

    def __hash__(self) -> int:
        return hash(self._key)


class _PaidMatrix(NamedTuple):
    """Key of a payoff matrix of a :class:`PublicTreeGame` with payments."""

    payoff: Payoff
    paid: tuple[float, ...]


class Incentives:
    """Rules in which players are paid for actions; :func:`with_incentives` makes them.

    The class of a game is derived from this class and from the class of the game without payments.
    """

    unpaid_rules: Any
    """Rules without payments."""
    incentives: tuple[Incentive, ...]
    """The payments."""

    def __init__(self, **arguments: Any) -> None:
        texts = arguments.pop(OPTION, ())
        rules = type(self).__bases__[1](**arguments)
        self.__dict__.update(vars(with_incentives(rules, texts) if texts else rules))

    def __reduce__(self) -> tuple[Any, ...]:
        return with_incentives, (self.unpaid_rules, tuple(i.text for i in self.incentives))

    @property
    def name(self) -> str:
        """Name of the game without payments, and a note."""
        return f"{self.unpaid_rules.name} with incentives"

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of the game that differ from their defaults."""
        texts = tuple(incentive.text for incentive in self.incentives)
        return {**getattr(self.unpaid_rules, "options", {}), OPTION: texts}

    def with_options(self, **changes: Any) -> Any:
        """Return the rules with other options and the same incentives."""
        return with_incentives(self.unpaid_rules.with_options(**changes), self.options[OPTION])

    @property
    def betting_key(self) -> Hashable:
        """None: the payoffs are not those of the betting."""
        return None

    def rows(self) -> StateRows | None:
        """Return the betting as rows, which has no payments."""
        rows: StateRows | None = self.unpaid_rules.rows()
        return rows

    def root(self) -> PaidState:
        """Return the first state, without payments."""
        pending = tuple((k, 0) for k, i in enumerate(self.incentives) if i.line is not None)
        return PaidState(self.unpaid_rules.root(), (0.0,) * self.unpaid_rules.n_players, pending)

    def next(self, state: PaidState, action: Any) -> PaidState:
        """Return the state after an action or a chance outcome, with the payments for it."""
        following = self.unpaid_rules.next(state.state, action)
        node = self.unpaid_rules.node(state.state)
        if not isinstance(node, Decision):
            return PaidState(following, state.paid, state.pending)
        label, paid = str(action), list(state.paid)
        for k in self._due(state, node, label):
            paid[node.player] += self.incentives[k].amount
        pending = tuple(
            (k, done + 1)
            for k, done in state.pending
            if (line := self.incentives[k].line) and done < len(line) and line[done] == label
        )
        return PaidState(following, tuple(paid), pending)

    def _due(self, state: PaidState, node: Decision, label: str) -> Iterator[int]:
        """Yield the indices of the incentives that pay for an action."""
        actions, done = tuple(map(str, node.actions)), dict(state.pending)
        for k, incentive in enumerate(self.incentives):
            if (
                incentive.player == node.player
                and incentive.takes(label, actions)
                and (not incentive.street or incentive.street == STREETS[state.state.street])
                and (incentive.line is None or done.get(k) == len(incentive.line))
            ):
                yield k

    def node(self, state: PaidState) -> Any:
        """Return the node of the game without payments, with the payments in its utilities."""
        node = self.unpaid_rules.node(state.state)
        if not any(state.paid):
            return node
        add = _ADDITIONS.get(type(node))
        return node if add is None else add(node, state.paid)

    def matrix(self, key: Any) -> np.ndarray:
        """Return the utilities per coefficient, with the payments of the key."""
        if not isinstance(key, _PaidMatrix):
            unpaid: np.ndarray = self.unpaid_rules.matrix(key)
            return unpaid
        coefficient, matrix = key.payoff
        utilities = coefficient * np.asarray(self.unpaid_rules.matrix(matrix), dtype=np.float64)
        paid: np.ndarray = utilities + np.reshape(key.paid, (-1,) + (1,) * (utilities.ndim - 1))
        return paid

    def chips(self, state: PaidState) -> Any:
        """Return the chips of the game without payments."""
        return self.unpaid_rules.chips(state.state)

    def put_in(self, state: PaidState) -> Any:
        """Return the chips that each player has put in."""
        return self.unpaid_rules.put_in(state.state)

    def described(self, state: PaidState) -> list[str]:
        """Return the texts of the game without payments."""
        texts: list[str] = self.unpaid_rules.described(state.state)
        return texts

    def check(self) -> None:
        """Check that each incentive pays for an action of the game.

        Raises:
            ValueError: An action does not occur, or not within :data:`MOST_STATES` states.
        """
        missing, known = set(range(len(self.incentives))), set[PaidState]()
        pending = [self.root()]
        for state in pending:
            node = self.unpaid_rules.node(state.state)
            edges: list[Any] = [None] if isinstance(node, Deal) else []
            if isinstance(node, Decision):
                edges = list(node.actions)
                missing -= {k for a in edges for k in self._due(state, node, str(a))}
            elif isinstance(node, Chance):
                edges = list(node.outcomes)
            if not missing or len(pending) > MOST_STATES:
                break
            pending += _new((self.next(state, edge) for edge in edges), known)
        if missing:
            incentive = self.incentives[min(missing)]
            within = f" in its first {MOST_STATES:,} states" if len(pending) > MOST_STATES else ""
            raise ValueError(
                f"{OPTION}: {brief(incentive.payment)}: player {incentive.player} of "
                f"{self.unpaid_rules.name} has no such action{within}"
            )


def _new(states: Iterable[PaidState], known: set[PaidState]) -> Iterator[PaidState]:
    """Yield the states that are not known, and add them; states without a hash count as new."""
    for state in states:
        try:
            if state in known:
                continue
            known.add(state)
        except TypeError:
            pass
        yield state


def _added(utilities: Sequence[float], paid: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(utility + more for utility, more in zip(utilities, paid, strict=True))


def _added_thrice(node: Any, paid: tuple[float, ...]) -> Any:
    """Add payments to the utilities of a win, a tie and a loss."""
    return node._replace(
        win=_added(node.win, paid), tie=_added(node.tie, paid), lose=_added(node.lose, paid)
    )


def _added_to_pots(node: SidePots, paid: tuple[float, ...]) -> SidePots:
    """Add payments to the utilities of side pots, which are amounts of chips or functions of them.

    A player's amount is their share of the pots minus the amount that they paid.
    """
    if node.utility is None:
        return node._replace(paid=_added(node.paid, tuple(-p for p in paid)))
    return node._replace(utility=partial(_paid_utility, node.utility, paid))


def _paid_utility(
    utility: Callable[[tuple[float, ...]], Sequence[float]],
    paid: tuple[float, ...],
    won: tuple[float, ...],
) -> tuple[float, ...]:
    return _added(utility(won), paid)


_ADDITIONS: Mapping[type, Callable[[Any, tuple[float, ...]], Any]] = {
    Terminal: lambda node, paid: Terminal(_added(node.utilities, paid)),
    Fold: lambda node, paid: Fold(_added(node.utilities, paid)),
    Showdown: _added_thrice,
    Runout: _added_thrice,
    SidePots: _added_to_pots,
    Payoff: lambda node, paid: Payoff(1.0, _PaidMatrix(node, paid)),
}
"""Addition of payments to the utilities of a node, by its class."""


@checked()
def with_incentives(
    rules: Annotated[Rules, Kind((Rules,), "rules of a game")],
    incentives: Annotated[Sequence[str], INCENTIVES],
) -> Any:
    """Return a game in which players are paid for actions.

    An incentive is ``"PLAYER [STREET] ACTION AMOUNT [after LINE]"``: ``"ip call +2"``,
    ``"1 river bet -5"``, ``"oop raise +3 after check bet60"``.  The player is a number or, in
    spots, a name.  Streets are for spots.  The line has all actions of players before this one,
    without cards; ``start`` is the line before the first action.  A payment does not depend on
    the hand.

    Built-in games take the incentives as a parameter, ``compile_game("leduc", incentives=...)``.

    Args:
        rules: The game.
        incentives: The incentives; all that fit an action are paid.

    Returns:
        Rules of the same class as ``rules``, and of the class :class:`Incentives`.

    Raises:
        ValueError: A text is not an incentive, or the game has no such action; names the text.
        TypeError: An argument has a wrong type.
    """
    if isinstance(rules, Incentives):
        raise TypeError(f"rules must not have incentives already, as {brief(rules)} has")
    names = getattr(rules, "player_names", ())
    if len(names) != rules.n_players:
        names = tuple(str(k) for k in range(rules.n_players))
    read = tuple(Incentive.read(text, names) for text in incentives)
    for incentive in read:
        if incentive.street and not isinstance(rules, Spot):
            raise ValueError(f"{OPTION}: {brief(incentive.text)}: only spots have streets")
    rules_class: Any = type(rules)
    kind = _class_of(rules_class)
    game: Any = object.__new__(kind)
    game.__dict__.update(vars(rules), unpaid_rules=rules, incentives=read)
    game.check()
    return game


def with_other_options(rules: Any, changes: Mapping[str, Any]) -> Any:
    """Return a game of cards with other options, which may be ``incentives``.

    Raises:
        ValueError: The game does not have the options, or an option is wrong; names it.
    """
    others = {name: value for name, value in changes.items() if name != OPTION}
    changed = rules.with_options(**others) if others or not changes else rules
    if OPTION not in changes:
        return changed
    unpaid = changed.unpaid_rules if isinstance(changed, Incentives) else changed
    texts = INCENTIVES(OPTION, changes[OPTION])
    return with_incentives(unpaid, texts) if texts else unpaid


@cache
def _class_of(kind: Any) -> type[Any]:
    """Return the class of games with payments for a class of games."""
    paying: type[Any] = type(kind.__name__, (Incentives, kind), {"__module__": kind.__module__})
    return paying
