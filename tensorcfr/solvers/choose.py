"""Choice of the default algorithm, and of the algorithm for ``algorithm="auto"``."""

from __future__ import annotations

import math

from .._util.hardware import available_cores
from ..algorithms import (
    ALGORITHMS,
    CFR_PLUS,
    DCFR,
    LP,
    PACED_CFR_PLUS,
    Record,
    find_algorithm,
)
from ..model.compiled_game import CompiledGame
from ..model.layout import Layout
from ..payoff import count_entries
from .solver_arguments import MAX_THREADS, PACKED, Units

DEFAULT_ALGORITHM = PACED_CFR_PLUS
"""Default algorithm.  ``scripts/variants.py`` chose its parameters on some games and tested them on
others."""
SINGLE_ALGORITHM = DEFAULT_ALGORITHM(average_power=5)
"""Default in single precision, in which the default's sum of ``t ** 10`` overflows after 3,000
iterations."""
PACKED_ALGORITHM = CFR_PLUS
"""Default in 16 bits, which cannot store the strategies that the default keeps."""
BY_PRECISION = {PACKED: PACKED_ALGORITHM, "float32": SINGLE_ALGORITHM}
"""Default algorithms of the precisions other than double."""
CARDS_ALGORITHM = DCFR(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)
"""Default in card games, in all precisions.  ``scripts/spots.py`` chose its discounts on some spots
of hold'em and tested them on others; no theorem covers them."""

EXACT_ENTRIES = 150_000
"""Payoff entries up to which the linear program takes only seconds."""
EXACT_TARGET = 1e-7
"""Exploitability, as a share of the range of the utilities, below which iterations take longer than
the linear program."""
SMALL = 10_000
"""Sequences, with symmetries merged, up to which predictions are used for every target.  They are
much faster for small targets, where time matters, and some milliseconds slower for large ones."""
FINE_TARGET = 5e-6
"""Exploitability, as a share of the range of the utilities, below which predictions are used in
larger games, too."""

THREADED = 100_000
"""Sequences from which ``threads="auto"`` is more than one.  On two cores, an iteration of a turn
takes 0.79 of the time with 106,000 sequences, and 0.61 with 1.25 million."""


def resolve_algorithm(
    algorithm: str | Record | None, game: Units, precision: str | None = None
) -> Record:
    """Return the requested algorithm, or the default one.

    Args:
        algorithm: A name or a record; None for the default.
        game: A game, compiled or not, or the rules of a card game.
        precision: Precision of the arrays; None for the default.

    Raises:
        ValueError: There is no such algorithm.
    """
    if algorithm is not None:
        return find_algorithm(algorithm)
    if game.defaults.algorithm is not None:
        return find_algorithm(game.defaults.algorithm)
    if game.is_of_cards:
        return CARDS_ALGORITHM
    return BY_PRECISION.get(precision or "", DEFAULT_ALGORITHM)


def resolve_precision(precision: str | None, game: Units, record: Record) -> str:
    """Return the requested precision, or the game's default if the algorithm supports it."""
    if precision is not None:
        return precision
    is_tied = getattr(game, "layout", None) == Layout.TIED
    takes_any = record.passes_whole_game and not record.is_plain and not is_tied
    return game.defaults.precision if takes_any else "float64"


def resolve_threads(threads: int | str, game: CompiledGame, *, on_cluster: bool) -> int:
    """Return the requested number of threads; ``"auto"`` is one per core, or 1 where that is as
    fast.

    On a cluster it is 1, because the cores of the workers are not known here.
    """
    if isinstance(threads, int):
        return threads
    is_large = game.layout == Layout.CHUNKS and game.n_sequences >= THREADED
    helps = is_large and not on_cluster
    return min(available_cores(), MAX_THREADS) if helps else 1


def choose(
    game: CompiledGame,
    *,
    target: float | None = None,
    exact: bool = True,
    precision: str | None = None,
) -> Record:
    """Choose the algorithm that ``solve(game, "auto")`` runs.

    The choice depends only on the game, the target and the precision, so that the same call always
    runs the same algorithm.  For two players and a constant sum, except in card games:

    * ``lp`` for games of at most 150,000 payoff entries, if no target is given or one below 1e-7 of
      the range of the utilities;
    * the default algorithm for games of at most 10,000 sequences, symmetries merged, and for larger
      games with a target below 5e-6 of the range;
    * ``dcfr`` for other larger games, and for all games in 16 bits, which cannot store predictions.

    All other options (other stop rules, locks, a warm start, the best iterate, threads) require
    iterations.  The measurements behind these limits are in ``docs/which-algorithm.md``.  For other
    games no algorithm here is known to find an equilibrium, so there is no criterion: they get
    the default algorithm, as without ``"auto"``.  Games with imperfect recall and games of two
    teams get the default, too, and so do card games, whose default was chosen on card games.

    >>> from tensorcfr import compile_game
    >>> print(choose(compile_game("kuhn")))
    lp
    >>> print(choose(compile_game("kuhn"), target=1e-3))
    paced-cfr+(average_power=10, alternating)

    Args:
        game: The game.
        target: Exploitability at which to end, if any.
        exact: True if the linear program is allowed, which supports no locks, no warm start, and no
            other stop rule.
        precision: Precision of the arrays; None for the default.
    """
    if (
        game.is_of_cards
        or game.n_players != 2
        or not game.constant_sum
        or game.layout in (Layout.TIED, Layout.TEAMS)
    ):
        return resolve_algorithm(None, game, precision)
    utility = game.utilities[:, 0]
    span, aim = utility.max() - utility.min(), math.inf if target is None else target
    if (
        exact
        and (target is None or aim < EXACT_TARGET * span)
        and game.layout == Layout.FLAT
        and count_entries(game.chunks.trunk, 0) <= EXACT_ENTRIES
    ):
        return LP
    is_coarse = aim >= FINE_TARGET * span
    if precision == PACKED or (is_coarse and game.chunked_form(merged=True).n_numbers > SMALL):
        return DCFR
    return resolve_algorithm(None, game, precision)


def refuse_uncompiled(record: Record, name: str) -> None:
    """Check that an algorithm does not need a compiled game.

    Raises:
        ValueError: It needs one; the message names the alternatives.
    """
    if not record.samples_rules:
        alternatives = ", ".join(
            known_name
            for known_name, known_record in ALGORITHMS.items()
            if known_record.samples_rules
        )
        raise ValueError(
            f"{record.name} needs a compiled game: compile {name} with compile_game; "
            f"{alternatives} also solve from the rules"
        )
