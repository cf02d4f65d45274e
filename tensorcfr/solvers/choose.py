"""Which algorithm runs where none is named, and where ``algorithm="auto"`` chooses."""

from __future__ import annotations

import math
from typing import Any

from ..algorithms import (
    CFR_PLUS,
    DCFR,
    LP,
    PACED_CFR_PLUS,
    Record,
    find_algorithm,
)
from ..model.game import CompiledGame
from ..payoff import count_entries
from .arguments import PACKED

DEFAULT_ALGORITHM = PACED_CFR_PLUS
"""The algorithm where none is asked for.  Its parameters were chosen on some games and judged on
others by ``scripts/variants.py``."""
SINGLE_ALGORITHM = DEFAULT_ALGORITHM(average_power=5)
"""The same in single precision, which the sum of ``t ** 10`` leaves after 3,000 iterations."""
PACKED_ALGORITHM = CFR_PLUS
"""The same in 16 bits, which have no room for the strategies that the default keeps."""
BY_PRECISION = {PACKED: PACKED_ALGORITHM, "float32": SINGLE_ALGORITHM}
"""The default where arrays are not kept in double precision."""
CARDS_ALGORITHM = DCFR(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)
"""The same in games of cards, in all precisions.  Its discounts were chosen on spots of hold'em and
judged on others by ``scripts/spots.py``; no theorem covers them."""

EXACT_ENTRIES = 150_000
"""Payoff entries up to which the linear program is a matter of seconds."""
EXACT_TARGET = 1e-7
"""Exploitability, as a share of the range of the utilities, below which iterations take longer than
the linear program."""
SMALL = 10_000
"""Sequences, where symmetries are merged, up to which predictions are taken for every target: far
ahead for small targets, where time counts, and some milliseconds behind for large ones."""
FINE_TARGET = 5e-6
"""Exploitability, as a share of the range of the utilities, below which predictions are taken in
larger games, too."""


def asked_algorithm(asked: str | Record | None, game: Any, precision: str | None = None) -> Record:
    """The algorithm that is asked for; where it is None, the default one.

    Args:
        asked: A name or a record.
        game: A game, compiled or not, or the rules of a game of cards.
        precision: In what the arrays are kept; None for the usual one.

    Raises:
        ValueError: There is no such algorithm.
    """
    if asked is not None:
        return find_algorithm(asked)
    if game.is_of_cards:
        return CARDS_ALGORITHM
    return BY_PRECISION.get(precision or "", DEFAULT_ALGORITHM)


def asked_precision(asked: str | None, game: Any, record: Record) -> str:
    """In what a solver's arrays are kept; where nothing is said, as is usual for the game, if the
    algorithm works in it."""
    if asked is not None:
        return asked
    is_tied = getattr(game, "tied_to", None) is not None
    takes_any = record.passes_whole_game and not record.is_plain and not is_tied
    return game.usual.precision if takes_any else "float64"


def choose(
    game: CompiledGame,
    *,
    target: float | None = None,
    exact: bool = True,
    precision: str | None = None,
) -> Record:
    """What ``solve(game, "auto")`` runs.

    By the game, the target and the precision alone, so that the same call always runs the same
    algorithm.  For two players and a constant sum, games of cards apart:

    * ``lp`` for games of at most 150,000 payoff entries, where no target is given or one below 1e-7
      of the range of the utilities;
    * the default algorithm for games of at most 10,000 sequences, symmetries merged, and for larger
      ones with a target below 5e-6 of the range;
    * ``dcfr`` for other larger ones, and for all in 16 bits, which have no room for predictions.

    Whatever else is asked for (other stop rules, locks, a warm start, the best iterate, threads)
    means iterations.  The figures behind it are in ``docs/which-algorithm.md``.  For other games no
    algorithm here is known to find an equilibrium, so that there is nothing to choose by:
    the default algorithm, as without ``"auto"``.  So it is with imperfect recall, for two teams,
    and in games of cards, whose default was chosen on games of their kind.

    >>> from tensorcfr import compile_game
    >>> print(choose(compile_game("kuhn")))
    lp
    >>> print(choose(compile_game("kuhn"), target=1e-3))
    paced-cfr+(average_power=10, alternating)

    Args:
        game: The game.
        target: Exploitability at which to end, if any.
        exact: Whether the linear program will do, which takes no locks, no warm start, and no other
            stop rule.
        precision: In what the arrays are kept; None for the usual one.
    """
    if (
        game.is_of_cards
        or game.n_players != 2
        or not game.constant_sum
        or game.tied_to is not None
        or game.links is not None
    ):
        return asked_algorithm(None, game, precision)
    utility = game.utilities[:, 0]
    span, aim = utility.max() - utility.min(), math.inf if target is None else target
    if (
        exact
        and (target is None or aim < EXACT_TARGET * span)
        and game.is_laid_out
        and count_entries(game.chunks.trunk, 0) <= EXACT_ENTRIES
    ):
        return LP
    is_coarse = aim >= FINE_TARGET * span
    if precision == PACKED or (is_coarse and game.swept(merged=True).n_numbers > SMALL):
        return DCFR
    return asked_algorithm(None, game, precision)
