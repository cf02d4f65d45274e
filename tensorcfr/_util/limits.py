"""Limits and tolerances of the library, each with its unit and its reason.

Constants that one module alone uses, and that no reader would compare with others, stay there.
"""

from __future__ import annotations

# ------------------------------------------------------------------------------- limits of size

LAZY_LABELS_FROM = 200_000
"""Infosets.  Games with as many make labels on demand: a label takes about 100 bytes."""
COMPILED_CHECK_FROM = 200_000
"""Sequences.  In games with as many, kernels check the payoffs of the merged form.  In smaller
games NumPy takes less time than compiling the kernels, once on every machine."""
ONE_VISIT_CHECK_LIMIT = 2_000_000
"""Histories.  For larger games nobody computes whether a traversal visits each infoset at most
once.  Without that knowledge a traversal is as correct and a little slower."""
DEEPEST = 10_000
"""Steps of a history.  A game with a longer one is refused as endless."""
INDEX_LIMIT = 2**32 - 3
"""Nodes of a traversal tree, and numbers in its table: indices are uint32, and the largest two
values are reserved as codes."""
HAND_PAIRS_PER_DEAL = 16
"""Pairs of hands per possible deal.  Above this ratio the product of the hands is too sparse:
the game keeps its histories."""
CHAIN_FROM_TERMS = 64
"""Terms of a payoff program.  Shorter programs gain nothing from prefix sums."""

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
payoffs that differ by rounding have one hash."""
SHARE_DECIMALS = 12
"""Decimals to which quotients of payoffs must agree, relative to the largest of a terminal, to be
one payoff: the division has rounded them."""
HASH_DECIMALS = 9
"""Decimals to which rows of payoffs are rounded to find candidates for proportional rows; the
candidates are then compared within :data:`PAYOFF_ROUNDING`."""

CUT_FROM = 1 << 17
"""Sequences of a game of private hands that is cut into chunks without being asked: regrets,
averages, strategies and reaches of so many take 4 MiB, more than most second-level caches have.
The same on every machine, so that a game is cut on all or on none."""
