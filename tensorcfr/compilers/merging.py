"""The smaller game for solvers: without single-action decisions, symmetries merged."""

from __future__ import annotations

import numpy as np

from ..model.arrays import PublicTree, SequenceForm
from ..model.game import Merged
from . import contraction, form_of_public_tree, symmetry
from .symmetry import Quotient


def merge(tree: PublicTree, form: SequenceForm) -> Merged | None:
    """A smaller game with the same solutions, or None if there is none.

    Omits decisions with one action (:mod:`.contraction`), then merges hands and public outcomes
    with indistinguishable payoffs (:mod:`.symmetry`).

    Args:
        tree: The public tree, with buckets and ranks.
        form: Its sequence form.
    """
    quotient = quotient_of(tree)
    if quotient is None:
        return None
    merged, smaller = form_of_public_tree.build(quotient.tree)
    quotient = quotient._replace(tree=smaller)
    return Merged(merged, symmetry.merged_sequences(tree, form, quotient, merged))


def quotient_of(tree: PublicTree) -> Quotient | None:
    """The public tree of the smaller game, or None if there is none."""
    short = contraction_of(tree)
    quotient = symmetry.merge(tree if short is None else short.tree)
    if short is None or quotient is None:
        return quotient or short
    return quotient._replace(node=np.where(short.node < 0, -1, quotient.node[short.node]))


def contraction_of(tree: PublicTree) -> Quotient | None:
    """The public tree without decisions that have one action, or None if there are none."""
    contracted = contraction.contract(tree)
    if contracted is None:
        return None
    identity = tuple(np.arange(hands) for hands in tree.prior.shape)
    return Quotient(*contracted, identity)
