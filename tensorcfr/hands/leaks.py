"""Leak report: the cost of each decision of played hands, by the solution of its spot.

Each spot is solved once, for all hands that share it (:mod:`.spots_of_hands`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Number, OneOf, Where, Whole, checked
from .._util.one_line import OneLine
from ..analysis.bounds import Confidence, Interval, interval_of
from ..model.game_arguments import CALLABLE
from ..solvers.solver_arguments import Target
from .played_hands import STREETS, Hands, Players
from .pricing import PricedDecision, StoredSpot
from .situations import HandSituation
from .spots_of_hands import RANGES_BY_KEY, HandInSpot, SpotError, Spots, read_options, spot_of

SPOTS = "spots"
"""Name of the folder of solved spots in a store."""


class Leak(NamedTuple):
    """All decisions of one kind: an action in a situation."""

    situation: HandSituation
    """Situation, without the course before, the stack and the board."""
    action: str
    """Class of the action."""
    decisions: int
    """Number of decisions in this situation with this action."""
    costly: int
    """Number of them that cost something."""
    cost: Interval
    """Total cost in big blinds; the interval covers its expected value over as many hands."""
    money: dict[str, float]
    """Total cost by currency, in chips for the currency ``""``."""
    example: str
    """Most expensive decision."""


@dataclass(frozen=True, repr=False)
class LeakReport(OneLine):
    """Costs of the decisions of players, by situation and action."""

    leaks: tuple[Leak, ...]
    """All leaks, the most expensive first."""
    decisions: tuple[PricedDecision, ...] = field(repr=False)
    """All priced decisions."""
    hands: int
    """Number of hands with a watched player."""
    spots: int
    """Number of spots."""
    solved: int
    """Number of spots that are solved."""
    unpriced: dict[str, int]
    """Number of hands or decisions without a price, by reason."""
    sessions: dict[str, tuple[int, Interval, Interval]]
    """Number of hands by session (a file, or a folder of files with one hand), and the amount won
    per hand in big blinds, as played and without the luck of the board.  The amount of a hand with
    several watched players is their mean."""
    exploitability: float
    """Largest exploitability of a solution, as a share of the pot; costs below it are noise."""

    @property
    def cost(self) -> float:
        """Total cost in big blinds."""
        return sum(leak.cost.mean for leak in self.leaks)

    def __str__(self) -> str:
        lines = [
            f"{self.hands:,} hands, {self.solved:,} of {self.spots:,} spots solved, "
            f"{len(self.decisions):,} decisions priced at {self.cost:.4g} bb"
        ]
        lines += [
            f"  {leak.cost.mean:9.3f} bb ± {leak.cost.half_width:.2g}  {leak.action} with "
            f"{leak.situation}: {leak.costly:,} of {leak.decisions:,}{_money(leak.money)}"
            for leak in self.leaks
            if leak.costly
        ]
        lines += [f"  no price, {count:,}: {reason}" for reason, count in self.unpriced.items()]
        lines += [
            f"  {name}: {n:,} hands, {played} bb per hand, without luck {adjusted}"
            for name, (n, played, adjusted) in self.sessions.items()
        ]
        return "\n".join(lines)


def _money(amounts: Mapping[str, float]) -> str:
    texts = [f"{amount:,.2f} {currency}" for currency, amount in amounts.items() if currency]
    return f", {' + '.join(texts)}" if texts else ""


@checked()
def find_leaks(
    hands: Hands,
    players: Players,
    ranges: Annotated[Mapping[str, str], RANGES_BY_KEY],
    *,
    street: Annotated[str, OneOf(STREETS[1:])] = "flop",
    tolerance: Annotated[float, Number(0, 1)] = 0.05,
    options: Annotated[
        Mapping[str, Any] | None, Kind((Mapping, type(None)), "options of a spot")
    ] = None,
    target: Target = "0.5%",
    store: Annotated[str | Path | None, Where()] = None,
    most: Annotated[int | None, Whole(0)] = None,
    confidence: Confidence = 0.95,
    progress: Annotated[Callable[[int, int], Any] | None, CALLABLE] = None,
    **solve_options: Any,
) -> LeakReport:
    """Compute the costs of decisions of players by the solutions of their spots.

    The cost of a decision is the value of the best action with this hand minus the value of the
    action that was played, if both players follow the solution afterwards.  A bet is priced as the
    nearest size of the spot.  Decisions before the flop, between more than two players, and with
    unknown cards have no price; they are counted by reason.

    Args:
        hands: The hands.
        players: Names of the watched players; None for all.
        ranges: Range of each player at the start of a spot.  The keys are tried in this order:
            ``"BTN raised"`` (position and class of the pot), ``"ip raised"``, ``"BTN"``, ``"ip"``,
            ``"*"``.  :func:`ranges_of_hands` makes them from hands with known cards.
        street: First street of spots.  A spot that begins later is solved sooner, but then the
            actions before it do not narrow the ranges.
        tolerance: Relative width of the classes of stack to pot that share a spot.
        options: Other options of :func:`~tensorcfr.games.make_spot`: sizes, ``rake``.
        target: Exploitability of the solutions, as for :func:`tensorcfr.solve`.
        store: Folder in which solutions and prices are kept.  A call continues with them.
        most: Largest number of spots to solve in this call, those with the most hands first.  Spots
            beyond it are not priced unless the store has them.
        confidence: Probability of the intervals.
        progress: Function that is called with the number of finished spots and of all spots.
        solve_options: Other options of :func:`tensorcfr.solve`.

    Raises:
        ValueError: An option of the spots is wrong.
    """
    spots = Spots(ranges, STREETS.index(street), float(tolerance), read_options(options))
    unpriced: Counter[str] = Counter()
    groups: dict[str, list[HandInSpot]] = {}
    watched_hands = 0
    for hand in hands:
        watched = [name for name in hand.players if players is None or name in players]
        watched_hands += bool(watched)
        if not watched:
            continue
        unpriced["before the flop"] += sum(
            decision.street == 0 and hand.players[decision.seat] in watched
            for decision in hand.decisions
        )
        try:
            text, member = spot_of(hand, spots, watched)
        except SpotError as error:
            unpriced[f"hand: {error}"] += 1
            continue
        groups.setdefault(text, []).append(member)
    priced: list[PricedDecision] = []
    lucky: dict[tuple[str, int, str], float] = {}
    solved, worst, budget = 0, 0.0, math.inf if most is None else most
    order = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    folder = None if store is None else Path(store) / SPOTS
    for number, (text, members) in enumerate(order, start=1):
        stored = StoredSpot(folder, text, target, solve_options)
        if not stored.is_solved and budget <= 0:
            unpriced["hand: its spot is not solved yet"] += len(members)
            continue
        budget -= not stored.is_solved
        try:
            part = stored.priced(members, players)
        except SpotError as error:
            unpriced[f"hand: {error}"] += len(members)
            continue
        priced += map(_priced_decision, part["decisions"])
        unpriced.update(part["unpriced"])
        lucky |= {(source, index, name): luck for source, index, name, luck in part["luck"]}
        worst = max(worst, part["exploitability"])
        solved += 1
        if progress is not None:
            progress(number, len(order))
    return LeakReport(
        leaks=_leaks(priced, watched_hands, confidence),
        decisions=tuple(priced),
        hands=watched_hands,
        spots=len(groups),
        solved=solved,
        unpriced=dict(unpriced.most_common()),
        sessions=_sessions(hands, players, lucky, confidence),
        exploitability=worst,
    )


def _priced_decision(row: Sequence[Any]) -> PricedDecision:
    """Return a decision from the fields that are stored."""
    return PricedDecision._make([*row[:3], HandSituation._make(row[3]), *row[4:]])


def _leaks(priced: Sequence[PricedDecision], hands: int, confidence: float) -> tuple[Leak, ...]:
    """Add up the costs by situation and action, the most expensive first."""
    groups: dict[tuple[HandSituation, str], list[PricedDecision]] = {}
    for decision in priced:
        groups.setdefault((decision.situation, decision.action), []).append(decision)
    leaks = []
    for (situation, action), members in groups.items():
        by_hand: dict[tuple[str, int, str], float] = {}
        money: dict[str, float] = {}
        for member in members:
            key = member.source, member.number, member.player
            by_hand[key] = by_hand.get(key, 0.0) + member.cost / member.big_blind
            money[member.currency] = money.get(member.currency, 0.0) + member.cost
        # Hands without such a decision cost nothing, so their number is part of the sample.
        costs = np.zeros(max(hands, len(by_hand)))
        costs[: len(by_hand)] = list(by_hand.values())
        error = math.sqrt(len(costs)) * float(costs.std(ddof=1)) if len(costs) > 1 else math.nan
        worst = max(members, key=lambda member: member.cost / member.big_blind)
        example = (
            f"{worst.source} {worst.number}: {worst.cards}, {worst.best} is best, "
            f"{worst.cost / worst.big_blind:.3g} bb"
        )
        costly = sum(member.cost > 0.0 for member in members)
        total = Interval(float(costs.sum()), error, confidence)
        leaks.append(Leak(situation, action, len(members), costly, total, money, example))
    return tuple(sorted(leaks, key=lambda leak: -leak.cost.mean))


def _sessions(
    hands: Hands,
    players: Players,
    lucky: Mapping[tuple[str, int, str], float],
    confidence: float,
) -> dict[str, tuple[int, Interval, Interval]]:
    """Return the results of each session.

    Args:
        hands: The hands.
        players: Names of the watched players; None for all.
        lucky: Luck of a player with the cards of the board, in big blinds, by file, number of the
            hand and name.
        confidence: Probability of the intervals.
    """
    results: dict[str, list[np.ndarray]] = {}
    for hand in hands:
        rows = [
            (won / float(hand.min_bet), lucky.get((hand.source, hand.index, name), 0.0))
            for name, won in zip(hand.players, hand.won, strict=True)
            if players is None or name in players
        ]
        if rows:
            results.setdefault(session_of(hand.source), []).append(np.mean(rows, axis=0))
    sessions = {}
    for session, means in results.items():
        won, luck = np.transpose(means)
        adjusted = interval_of(won - luck, confidence)
        sessions[session] = len(means), interval_of(won, confidence), adjusted
    return sessions


def session_of(source: str) -> str:
    """Return the session of a file: its folder if the file has a single hand, else the file."""
    path = PurePosixPath(source)
    return str(path.parent) if path.suffix == ".phh" and path.parent.name else source
