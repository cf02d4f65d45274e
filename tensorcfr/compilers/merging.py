"""The smaller game that a solver works on: single actions left out, symmetries merged."""

from __future__ import annotations

import numpy as np

from ..model.arrays import PublicTree, SequenceForm
from ..model.game import Merged
from . import contraction, form_of_public_tree, symmetry


def merge(tree: PublicTree, form: SequenceForm) -> Merged | None:
    """A smaller game with the same solutions, or None if there is none.

    Decisions that have one action are left out (:mod:`.contraction`), then hands and public
    outcomes that the payoffs cannot tell apart become one (:mod:`.symmetry`).

    Args:
        tree: The public tree, with buckets and ranks.
        form: Its sequence form.
    """
    contracted = contraction.contract(tree)
    shorter, node = contracted or (tree, np.arange(tree.n_nodes))
    quotient = symmetry.merge(shorter)
    if quotient is None and contracted is None:
        return None
    if quotient is None:
        identity = tuple(np.arange(hands) for hands in tree.prior.shape)
        quotient = symmetry.Quotient(shorter, np.arange(shorter.n_nodes), identity)
    merged, smaller = form_of_public_tree.build(quotient.tree)
    quotient = quotient._replace(tree=smaller, node=np.where(node < 0, -1, quotient.node[node]))
    return Merged(merged, symmetry.merged_sequences(tree, form, quotient, merged))
