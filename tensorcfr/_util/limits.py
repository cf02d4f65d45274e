"""Limits and tolerances of the library, each with its unit and its reason.

Constants that only one module uses, and that no reader would compare with others, stay in that
module.
"""

from __future__ import annotations

# ------------------------------------------------------------------------------- limits of size

LAZY_LABELS_FROM = 200_000
"""Number of infosets from which a game creates labels on demand: a label takes about 100 bytes."""
COMPILED_CHECK_FROM = 200_000
"""Number of sequences from which kernels check the payoffs of the merged form. In smaller games
NumPy takes less time than compiling the kernels, once per machine."""
ONE_VISIT_CHECK_LIMIT = 2_000_000
"""Largest number of histories for which compilers check whether a traversal visits each infoset at
most once. Without that knowledge a traversal is as correct, but a little slower."""
DEEPEST = 10_000
"""Largest number of actions and chance outcomes of a history. A game with a longer one is rejected
as endless."""
INDEX_LIMIT = 2**32 - 3
"""Largest number of nodes of a traversal tree, and of numbers in its table: indices are uint32, and
the two largest values are reserved as codes."""
MOST_NODES_OF_PAGE = 20_000
"""Largest number of nodes in a page for sharing by default."""
HAND_PAIRS_PER_DEAL = 16
"""Largest number of pairs of hands per possible deal. Above this ratio the product of the hands is
too sparse, and the game is compiled from its histories."""
CHAIN_FROM_TERMS = 64
"""Number of terms from which a payoff program may use prefix sums; shorter ones gain nothing."""

# ----------------------------------------------------------------------------------- tolerances

CHANCE_TOLERANCE = 1e-9
"""Largest distance from 1 of the sum of a chance node's probabilities."""
PRIOR_TOLERANCE = 1e-8
"""Largest distance from 1 of the sum of the prior.  Larger than :data:`CHANCE_TOLERANCE`, because
hands may be dealt in several steps."""
WEIGHT_TOLERANCE = 1e-12
"""Largest relative distance between a weight and the product of its chance probabilities."""
PAYOFF_TOLERANCE = 1e-9
"""Largest distance between payoffs of the operator and of the tree, relative to the sum of the
absolute terms."""
PAYOFF_ROUNDING = 2.0**-50
"""Relative rounding error of a payoff.  A sum of payoffs below it, relative to the sum of the
absolute terms, is 0; rows of payoffs that differ by less are proportional."""
PAYOFF_HASH_STEPS = 2.0**40
"""Steps per leading binary digit to which payoffs are rounded before they are hashed, so that
payoffs that differ only by rounding have the same hash."""
SHARE_DECIMALS = 12
"""Decimals to which quotients of payoffs, relative to the largest of a terminal, must agree to
count as one payoff. The rest of the difference is rounding of the division."""
HASH_DECIMALS = 9
"""Decimals to which rows of payoffs are rounded to find candidates for proportional rows; the
candidates are then compared within :data:`PAYOFF_ROUNDING`."""

CUT_FROM = 1 << 17
"""Number of sequences from which a game of private hands is cut into chunks by default. Regrets,
averages, strategies and reaches of so many take 4 MiB, more than most second-level caches have. The
number is the same on every machine, so that all machines cut the same games."""
