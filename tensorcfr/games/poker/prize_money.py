"""Expected prize money from stacks: the independent chip model, bounties, and risk.

The model of Malmuth and Harville draws the finishing order place by place.  The winner is drawn
with probabilities in proportion to the stacks, the second place among the other players in
proportion to theirs, and so on.  Skill, position and blinds do not count.

Up to :data:`MOST_BY_SETS` players are computed exactly, over all sets of players that may have the
first places.  For more players, each player arrives at an exponentially distributed time with the
stack as its rate.  The order of arrival then has exactly the probabilities of the model, and the
prize of a player is an integral over the time of arrival, which a quadrature computes.

Sources: D. Harville, "Assigning probabilities to the outcomes of multi-entry competitions", JASA
68, 1973; M. Malmuth, "Gambling theory and other topics", 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Annotated, NamedTuple

import numpy as np

from ..._util.argument_checks import Number, Several, checked

MOST_BY_SETS = 15
"""Largest number of players whose prizes are computed over all sets of players."""
MOST_PLAYERS = 10_000
"""Largest number of players."""
MOST_AMOUNT = 1e15
"""Largest stack, prize or bounty."""
QUADRATURE_ERROR = 1e-12
"""Largest change of a prize, as a share of all prizes, between the last two grids of the quadrature
for more than :data:`MOST_BY_SETS` players."""
MOST_GRIDS = 8
"""Largest number of grids of the quadrature; the second or third is fine enough."""
CASH = 0.5
"""Share of a bounty that is paid at once in progressive knockouts."""

Amounts = Sequence[float] | np.ndarray
"""Chips, prizes or bounties of several players or places."""
AMOUNTS = Several(Number(0, MOST_AMOUNT), ordered=True)


@checked()
def icm(stacks: Annotated[Amounts, AMOUNTS], payouts: Annotated[Amounts, AMOUNTS]) -> np.ndarray:
    """Return the expected prize of each player, by the independent chip model.

    Players without chips have just been eliminated: they share the lowest places equally.

    Args:
        stacks: Chips of each player.
        payouts: Prizes that are still to be won, from the first place down.  Places without a prize
            may be left out, and prizes for more places than players are ignored.

    Returns:
        float64 (players,).  The error is that of rounding for at most :data:`MOST_BY_SETS` players
        with chips; for more players it is below 1e-11 of all prizes.

    Raises:
        ValueError: A stack or a prize is wrong, nobody has chips, or a prize is higher than the
            prize of a better place.
    """
    chips = _read_stacks(stacks)
    prizes = _read_payouts(payouts, len(chips))
    alive = np.flatnonzero(chips)
    equities = np.zeros(len(chips))
    equities[alive] = _by_model(chips[alive], prizes[: len(alive)])
    # Players who were eliminated in one hand share the places below the others.
    equities[chips == 0.0] = prizes[len(alive) :].sum() / max(len(chips) - len(alive), 1)
    return equities


@checked()
def bounty_equities(
    stacks: Annotated[Amounts, AMOUNTS],
    bounties: Annotated[Amounts, AMOUNTS],
    *,
    cash: Annotated[float, Number(0, 1)] = CASH,
) -> np.ndarray:
    """Return the bounties that each player expects to be paid.

    A player who eliminates another is paid the share ``cash`` of the bounty, and the rest is added
    to the player's own bounty.  The winner of the tournament is paid the bounty on themselves.  The
    finishing order is that of :func:`icm`, and each of the players who finish higher is equally
    likely to have eliminated a player, as in the source.

    Args:
        stacks: Chips of each player; a player without chips is paid nothing more.
        bounties: Bounty on each player with chips; ignored for players without chips.
        cash: Share of a bounty that is paid at once: 0.5 in progressive knockouts, 1 if bounties
            do not grow.

    Returns:
        float64 (players,).

    Raises:
        ValueError: An amount is wrong, there is not a bounty for each player, or more than
            :data:`MOST_BY_SETS` players have chips.

    Source: HoldemResources Calculator, "Estimating KO/bounty equities" (its author's description).
    """
    chips, heads = _read_stacks(stacks), np.array(bounties, dtype=np.float64)
    if heads.shape != chips.shape:
        raise ValueError(f"bounties has {len(heads)} amounts for {len(chips)} players in stacks")
    alive = np.flatnonzero(chips)
    if len(alive) > MOST_BY_SETS:
        raise ValueError(f"bounties are for at most {MOST_BY_SETS} players, not {len(alive)}")
    equities = np.zeros(len(chips))
    equities[alive] = _bounties_by_sets(chips[alive], heads[alive], cash)
    return equities


class PrizeMoney:
    """Expected prize money as a function of the stacks after a hand.

    With bounties, the hand is between players 0 and 1.

    Args:
        payouts: Prizes from the first place down, as for :func:`icm`.
        bounties: Bounty on each player before the hand; none without bounties.
        before: Chips of each player before the hand.  Of several players who lose all chips, the
            one who had more gets the better place.  By default they share the places equally.
    """

    def __init__(self, payouts: Amounts, bounties: Amounts = (), before: Amounts = ()) -> None:
        self.payouts, self.bounties = tuple(payouts), tuple(bounties)
        self.before = np.array(before, dtype=np.float64)

    def __call__(self, stacks: tuple[float, ...]) -> np.ndarray:
        """Return the expected prize money of each player, float64 (players,)."""
        equities = icm(stacks, self.payouts)
        out = np.flatnonzero(np.array(stacks) == 0.0)
        if len(self.before) and len(out) > 1:
            prizes = _read_payouts(self.payouts, len(stacks))[len(stacks) - len(out) :]
            chips = self.before[out]
            for player in out.tolist():
                # Players who had equal stacks share their places.
                better, equal = chips > self.before[player], chips == self.before[player]
                first = int(better.sum())
                equities[player] = prizes[first : first + int(equal.sum())].mean()
        if not self.bounties:
            return equities
        bounties, paid = list(self.bounties), np.zeros(len(stacks))
        for player in range(2):
            if stacks[player] == 0.0 < stacks[1 - player]:
                paid[1 - player] = CASH * bounties[player]
                bounties[1 - player] += (1.0 - CASH) * bounties[player]
        total: np.ndarray = equities + paid + bounty_equities(stacks, bounties)
        return total

    def pool(self, players: int) -> float:
        """Return the sum of all prizes and bounties that some players can still win."""
        return float(sum(self.payouts[:players]) + sum(self.bounties))


class Risk(NamedTuple):
    """Price of chips in an all-in between each pair of players; see :func:`risk`."""

    bubble_factors: np.ndarray
    """float64 (players, players): prize money that the player of the row loses by losing an all-in
    to the player of the column, divided by the gain of winning it.  NaN on the diagonal and for
    players without chips, infinite if winning gains nothing."""
    premiums: np.ndarray
    """float64 (players, players): share of all-ins that the player must win in addition to one
    half, ``factor / (1 + factor) - 1 / 2``."""


@checked()
def risk(
    stacks: Annotated[Amounts, AMOUNTS],
    payouts: Annotated[Amounts, AMOUNTS],
    bounties: Annotated[Amounts, AMOUNTS] = (),
) -> Risk:
    """Return the bubble factor and the risk premium of each pair of players.

    The smaller stack of the two is at stake, without blinds and other chips in the pot.

    Args:
        stacks: Chips of each player, as for :func:`icm`.
        payouts: Prizes from the first place down, as for :func:`icm`.
        bounties: Progressive bounty on each player; none without bounties.

    Raises:
        ValueError: As for :func:`icm` and :func:`bounty_equities`.

    Sources: L. Nelson, T. Streib, S. Heston, "Kill everyone", 2009 (bubble factors); D. O'Kearney,
    B. Carter, "Endgame poker strategy: the ICM book", 2020 (risk premiums).
    """
    chips, heads = _read_stacks(stacks), np.array(bounties, dtype=np.float64)
    if len(heads) and heads.shape != chips.shape:
        raise ValueError(f"bounties has {len(heads)} amounts for {len(chips)} players in stacks")
    players = len(chips)
    now = PrizeMoney(payouts, bounties)(tuple(chips))
    won, lost = np.full((2, players, players), np.nan)
    alive = np.flatnonzero(chips).tolist()
    for winner, loser in permutations(alive, 2):
        # The all-in is between the first two players of the order.
        order = [winner, loser, *np.delete(np.arange(players), [winner, loser])]
        change = np.zeros(players)
        change[:2] = np.array([1.0, -1.0]) * min(chips[winner], chips[loser])
        money = PrizeMoney(payouts, heads[order] if len(heads) else ())
        won[winner, loser], lost[loser, winner] = money(tuple(chips[order] + change))[:2]
    gains, losses = won - now[:, None], now[:, None] - lost
    # Differences below the rounding of the prizes are zero.
    least = 1e-12 * max(*payouts, *bounties, 0.0, 0.0)
    gains[gains <= least], losses[losses <= least] = 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = losses / gains
    with np.errstate(invalid="ignore"):
        premiums = np.where(np.isinf(factors), 0.5, factors / (1.0 + factors) - 0.5)
    return Risk(factors, premiums)


def _read_stacks(stacks: Amounts) -> np.ndarray:
    """Return the stacks as float64 (players,)."""
    chips = np.array(stacks, dtype=np.float64)
    if len(chips) > MOST_PLAYERS:
        raise ValueError(f"stacks has {len(chips):,} players; at most {MOST_PLAYERS:,}")
    if not chips.any():
        raise ValueError("stacks must contain a player with chips")
    return chips


def _read_payouts(payouts: Amounts, places: int) -> np.ndarray:
    """Return the prize of each place, float64 (places,)."""
    for place in range(1, len(payouts)):
        if payouts[place] > payouts[place - 1]:
            raise ValueError(
                f"payouts[{place}] = {payouts[place]:g} is above payouts[{place - 1}] = "
                f"{payouts[place - 1]:g}: give prizes from the first place down"
            )
    prizes = np.zeros(places)
    paid = min(places, len(payouts))
    prizes[:paid] = payouts[:paid]
    return prizes


def _by_model(chips: np.ndarray, prizes: np.ndarray) -> np.ndarray:
    """Return the expected prizes of players who all have chips, float64 (players,)."""
    lowest = prizes[-1]
    # The lowest prize is certain.  Without it fewer places have to be drawn.
    gains = np.trim_zeros(prizes - lowest, "b")
    if len(chips) <= MOST_BY_SETS:
        return lowest + _PlayerSets(chips).first_places(gains.tolist())[1]
    return lowest + _prizes_by_quadrature(chips, gains)


def _sums_of_sets(chips: np.ndarray) -> np.ndarray:
    """Return the chips of each set of players, float64 (sets,); bit ``i`` is player ``i``."""
    sums = np.zeros(1)
    for stack in chips:
        sums = np.concatenate([sums, sums + stack])
    return sums


def _sets_by_size(players: int) -> list[np.ndarray]:
    """Return the sets of each size as bit masks, int64 (sets of the size,)."""
    sizes = np.zeros(1, dtype=np.int64)
    for _ in range(players):
        sizes = np.concatenate([sizes, sizes + 1])
    order = np.argsort(sizes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(sizes))[:-1])


class _PlayerSets:
    """Sets of players, as bit masks, and the draws of the model from one set to the next.

    Args:
        chips: float64 (players,).
    """

    def __init__(self, chips: np.ndarray) -> None:
        self.chips, self.players = chips, len(chips)
        self._sums, self._by_size = _sums_of_sets(chips), _sets_by_size(self.players)

    def draws(self, size: int, player: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of a size without a player, int64 (sets,), and the probability that the
        player has the next place if a set has the places above, float64 (sets,)."""
        sets = self._by_size[size]
        sets = sets[sets >> player & 1 == 0]
        everyone = (1 << self.players) - 1
        return sets, self.chips[player] / self._sums[everyone ^ sets]

    def first_places(self, prizes: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability that a set of players has the first places, float64 (sets,), for
        sets of at most as many players as there are prizes; and the expected prizes, float64
        (players,)."""
        has_first_places, equities = np.zeros(1 << self.players), np.zeros(self.players)
        has_first_places[0] = 1.0
        # Each place needs the probabilities of the place above, so places run from the first down.
        for place, prize in enumerate(prizes):
            for player in range(self.players):
                sets, share = self.draws(place, player)
                chance = has_first_places[sets] * share
                equities[player] += prize * chance.sum()
                has_first_places[sets | 1 << player] += chance
        return has_first_places, equities


def _prizes_by_quadrature(chips: np.ndarray, prizes: np.ndarray) -> np.ndarray:
    """Return the expected prizes, as integrals over the time at which a player arrives.

    The trapezoidal rule in ``w``, with the time ``exp(w - exp(-w))``, converges exponentially.  The
    grid is refined until the prizes change by less than :data:`QUADRATURE_ERROR`.
    """
    rates = chips / chips.sum()
    if not len(prizes):
        return np.zeros(len(rates))
    begin, end = -4.0, float(np.log(45.0 / rates.min()))
    step = 0.25
    nodes = np.arange(begin, end, step)
    integral = step * _integrand(rates, prizes, nodes)
    for _ in range(MOST_GRIDS):
        step /= 2.0
        refined = integral / 2.0 + step * _integrand(rates, prizes, nodes + step)
        change = np.abs(refined - integral).max()
        integral, nodes = refined, np.sort(np.concatenate([nodes, nodes + step]))
        if change <= QUADRATURE_ERROR * prizes.sum():
            break
    # There are more players than prizes, so all prizes are paid.
    paid: np.ndarray = integral * (prizes.sum() / integral.sum())
    return paid


def _integrand(rates: np.ndarray, prizes: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Sum the integrand of each player over some nodes, float64 (players,)."""
    players, places = len(rates), len(prizes)
    totals = np.zeros(players)
    # About 64 MB of intermediate numbers at a time.
    count = max(1, int(8e6 / (players * places)))
    for first in range(0, len(nodes), count):
        w = nodes[first : first + count]
        time = np.exp(w - np.exp(-w))
        weight = time * (1.0 + np.exp(-w))
        stays = np.exp(-np.outer(rates, time))
        # prize_after[k] is the expected prize of a player before whom k others have arrived, as
        # the players from the last one on are added.
        prize_after = np.repeat(prizes[:, None], len(w), axis=1)
        expected = np.empty((players, places, len(w)))
        for player in range(players - 1, -1, -1):
            expected[player] = prize_after
            shifted = np.concatenate([prize_after[1:], np.zeros((1, len(w)))])
            prize_after = stays[player] * prize_after + (1.0 - stays[player]) * shifted
        # arrived[k] is the probability that k of the players before this one have arrived.
        arrived = np.zeros((places, len(w)))
        arrived[0] = 1.0
        for player in range(players):
            prize = np.einsum("kw,kw->w", arrived, expected[player])
            totals[player] += float((weight * rates[player] * stays[player] * prize).sum())
            shifted = np.concatenate([np.zeros((1, len(w))), arrived[:-1]])
            arrived = stays[player] * arrived + (1.0 - stays[player]) * shifted
    return totals


def _bounties_by_sets(chips: np.ndarray, heads: np.ndarray, cash: float) -> np.ndarray:
    """Return the expected bounties, by the sets of players who are left, from all down to one."""
    players, draws = len(chips), _PlayerSets(chips)
    has_first_places, _ = draws.first_places([0.0] * players)
    # growth[set] is the expected growth of every bounty of the players who are left, given that
    # this set is left: all of them are equally likely to have eliminated each other player.
    growth, equities = np.zeros(1 << players), np.zeros(players)
    paid = np.zeros(1 << players)  # To each player of a set, times the probability of the set.
    for left in range(players - 1, 0, -1):
        for player in range(players):
            # Given that the set is left, the player is the last one who was eliminated.
            sets, last = draws.draws(left, player)
            bounty = heads[player] + growth[sets | 1 << player]
            growth[sets] += last * (growth[sets | 1 << player] + (1.0 - cash) * bounty / left)
            paid[sets] += has_first_places[sets] * last * cash * bounty / left
    for player in range(players):
        equities[player] += paid[np.arange(1 << players) >> player & 1 == 1].sum()
        equities[player] += has_first_places[1 << player] * (heads[player] + growth[1 << player])
    return equities
