"""Bucketing of private hands by label, by strength, or by distribution of future strength."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Annotated

import numpy as np

from .._util.argument_checks import Flag, Kind, OneOf, Whole, checked
from .._util.extras import needs
from ..compilers.cards.card_public_nodes import CardNodes
from ..compilers.cards.equity import equities
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from .hand_abstraction import boards_of, public_of
from .infoset_abstraction import bucket_of

FUNCTION = Kind((Callable,), "a function of the label of a hand")
COUNT = Whole(1, 1 << 20, "a number of buckets")
SPACING = OneOf(("quantiles", "width"))


@checked()
def buckets_by_label(
    game: Compiled,
    bucket: Annotated[Callable[..., Hashable], FUNCTION],
    *,
    by_board: Annotated[bool, Flag()] = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Assign hands to buckets by a function of the hand's label.

    >>> from tensorcfr import compile_game
    >>> leduc = compile_game("leduc")
    >>> buckets_by_label(leduc, lambda hand: "K" if hand[0] == "K" else "other")[0].tolist()
    ['other', 'other', 'other', 'other', 'K', 'K']

    Args:
        game: A game of private hands between two players.
        bucket: A function from the label of a hand to its bucket, which is read as text. With
            ``by_board`` it also gets the name of the board (:func:`board_names`).
        by_board: Whether buckets differ between boards.

    Returns:
        For each player, the buckets as str (hands,); with ``by_board`` str (boards, hands).

    Raises:
        ValueError: The game has no private hands, or the function fails.
    """
    public = public_of(game.flat())
    buckets = []
    for hands in public.hands:
        if by_board:
            names = boards_of(public).names
            rows = [[bucket_of("bucket", bucket, hand, board) for hand in hands] for board in names]
            buckets.append(np.array(rows))
        else:
            buckets.append(np.array([bucket_of("bucket", bucket, hand) for hand in hands]))
    return buckets[0], buckets[1]


@checked()
def buckets_by_strength(
    game: Compiled,
    count: Annotated[int, COUNT],
    *,
    spacing: Annotated[str, SPACING] = "quantiles",
    by_board: Annotated[bool, Flag()] = False,
    nested: Annotated[bool, Flag()] = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Assign hands to buckets by expected hand strength: the equity against the other player's
    range.

    Args:
        game: A game of cards, such as a spot of hold'em.
        count: Number of buckets of each player.
        spacing: ``"quantiles"`` for buckets of nearly equal weight in the player's range; hands of
            equal strength stay together. ``"width"`` for intervals of equal width from strength 0
            to 1.
        by_board: Whether every later board has buckets of its own, by the equity there.
        nested: With ``by_board``, whether the buckets on a later board subdivide those on the board
            before, into at most ``count`` each. Players then remember their earlier buckets.

    Returns:
        For each player, the buckets as int64 (hands,), 0 for the weakest; with ``by_board`` int64
        (boards, hands).

    Raises:
        ValueError: The game is not a game of cards.
    """
    cards = card_nodes(game)
    if not by_board:
        first, second = (
            spaced(strength, weight, count, spacing)
            for strength, weight in zip(_strengths(cards, ()), cards.rules.weights, strict=True)
        )
        return first, second
    boards = boards_of(public_of(game.flat()))
    buckets = [
        np.empty((len(boards.names), len(hands)), dtype=np.int64) for hands in cards.rules.hands
    ]
    number = {str(card): place for place, card in enumerate(cards.rules.cards)}
    for board, name in enumerate(boards.names):
        dealt = tuple(number[card] for card in name.split())
        for player, strength in enumerate(_strengths(cards, dealt)):
            weight = np.where(np.isnan(strength), 0.0, cards.rules.weights[player])
            board_buckets = spaced(strength, weight, count, spacing)
            # The parent's bucket is the leading digit in base ``count``, so buckets never merge
            # again.
            if nested and board:
                board_buckets += buckets[player][int(boards.parent[board])] * count
            buckets[player][board] = board_buckets
    return buckets[0], buckets[1]


@checked()
def buckets_by_future(
    game: Compiled,
    count: Annotated[int, COUNT],
    *,
    bins: Annotated[int, Whole(2, 10_000)] = 50,
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Cluster hands by k-means on histograms of their strength on the final boards.

    Hands with equal mean strength but different distributions (a draw, a made hand) are separated.
    The distance between two hands is the Euclidean distance of their cumulative histograms. Like
    the earth mover's distance, it grows with the distance between the strengths. Hands are weighted
    by their weight in the range.

    Source: A. Gilpin, T. Sandholm, T. B. Sørensen, "Potential-aware automated abstraction of
    sequential games", AAAI 2007; M. Johanson, N. Burch, R. Valenzano, M. Bowling, "Evaluating
    state-space abstractions in extensive-form games", AAMAS 2013.

    Args:
        game: A game of cards, such as a spot of hold'em.
        count: Number of buckets of each player; fewer if there are fewer different histograms.
        bins: Number of bins of a histogram.
        seed: Seed of the initial cluster centres.

    Returns:
        For each player, the buckets as int64 (hands,), numbered by mean strength, 0 for the
        weakest.

    Raises:
        ValueError: The game is not a game of cards.
        MissingExtraError: scikit-learn is not installed: ``tensorcfr[buckets]``.
    """
    cards = card_nodes(game)
    cluster = needs("sklearn.cluster", "buckets", "scikit-learn")
    buckets = []
    for player, histogram in enumerate(_histograms(cards, bins)):
        points = np.cumsum(histogram, axis=1)
        n_different = len(np.unique(points.round(12), axis=0))
        # k-means needs at least as many different points as clusters.
        means = cluster.KMeans(min(count, n_different), n_init=4, random_state=seed)
        of_hand = means.fit_predict(points, sample_weight=cards.rules.weights[player])
        mean = histogram @ (np.arange(bins) + 0.5)
        # Numbered by mean strength, and without gaps.
        centre = np.bincount(of_hand, weights=mean) / np.maximum(np.bincount(of_hand), 1)
        rank = np.argsort(np.argsort(centre))
        buckets.append(rank[of_hand].astype(np.int64))
    return buckets[0], buckets[1]


def card_nodes(game: CompiledGame) -> CardNodes:
    """Return the public nodes of a game of cards.

    Raises:
        ValueError: The game is not a game of cards.
    """
    try:
        return CardNodes.of_two(game)
    except TypeError as error:
        raise ValueError(f"{error}: hands have no strength") from None


def _strengths(game: CardNodes, dealt: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each player the equity of every hand after some cards were dealt.

    The arrays are float64 (hands,); NaN for hands that contain a dealt card.
    """
    rules = game.rules
    live = [~np.isin(hands, dealt).any(axis=1) for hands in rules.hands]
    weights = rules.weights[0] * live[0], rules.weights[1] * live[1]
    return equities(rules, (*rules.board, *dealt), weights, game.betting.rounds - len(dealt))


def spaced(strength: np.ndarray, weight: np.ndarray, count: int, spacing: str) -> np.ndarray:
    """Assign hands to buckets by strength.

    Args:
        strength: float64 (hands,): strengths from 0 to 1; NaN for hands without one.
        weight: float64 (hands,): weights in the range, which quantiles count.
        count: Number of buckets.
        spacing: ``"quantiles"`` or ``"width"``, as in :func:`buckets_by_strength`.

    Returns:
        int64 (hands,); 0 for hands without a strength.
    """
    known = ~np.isnan(strength)
    buckets = np.zeros(len(strength), dtype=np.int64)
    if not known.any():
        return buckets
    if spacing == "width":
        share = strength[known]
    else:
        # Equal strengths, up to rounding, stay together: at the middle of their weight.
        level, place = np.unique(strength[known].round(9), return_inverse=True)
        level_weight = np.bincount(place, weights=weight[known], minlength=len(level))
        share = ((np.cumsum(level_weight) - level_weight / 2) / level_weight.sum())[place]
    buckets[known] = np.minimum((share * count).astype(np.int64), count - 1)
    return buckets


def _histograms(game: CardNodes, bins: int) -> list[np.ndarray]:
    """Compute for each player the distribution of every hand's strength over the final boards.

    The arrays are float64 (hands, bins); each row sums to 1.
    """
    boards = game.boards[-1].cards
    histograms = [np.zeros((len(hands), bins)) for hands in game.rules.hands]
    for dealt in boards.tolist():
        for player, strength in enumerate(_strengths(game, tuple(dealt))):
            hand = np.flatnonzero(~np.isnan(strength))
            bin_index = np.minimum((strength[hand] * bins).astype(np.int64), bins - 1)
            histograms[player][hand, bin_index] += 1.0
    # A hand is missing from the boards that contain its cards, so the counts differ by hand.
    return [
        histogram / np.maximum(histogram.sum(axis=1, keepdims=True), 1.0)
        for histogram in histograms
    ]
