"""Kernels of the payoff operator ``g = A x``: counterfactual payoffs of a player's sequences.

Each kind of part has one function.  :func:`payoff_product` is compiled for the kinds of parts that
a game has, so a game without blocks does not pay for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import inlined, overload_piece
from . import KIND_OF_CLASS
from .payoff_form import PayoffForm
from .product_share import ProductShare


@inlined
def payoff_product(
    form: PayoffForm,
    player: int,
    reach: np.ndarray,
    g: np.ndarray,
    scratch: np.ndarray,
    prefetch: np.ndarray | None,
) -> None:
    """Compute the counterfactual payoffs of a player's sequences.

    ``g[s]`` is the sum, over the terminals whose last own sequence is ``s``, of chance probability
    times utility times the other players' reaches.

    Args:
        form: The game.
        player: Player whose payoffs are computed.
        reach: float (sequences,): own reach of every player's sequences.
        g: float (sequences,): modified in place at the player's sequences.
        scratch: Scratch from :func:`payoff_scratch`.
        prefetch: Addresses to prefetch, or None; see
            :class:`~tensorcfr.payoff.product_share.ProductShare`.
    """
    g[form.player_sequences[player] : form.player_sequences[player + 1]] = 0.0
    share = ProductShare(form.hand_rank, player, 0, 1, reach, g, scratch, prefetch)
    for k in range(len(form.operator)):
        add_share(form.operator, k, share)


def add_share(operator: tuple[Any, ...], k: int, share: ProductShare) -> None:
    """Add a share of the product of part ``k`` of an operator.

    Different shares add to different sequences.  Two parts may add to the same sequence.
    """
    KIND_OF_CLASS[type(operator[k])].add(operator[k], share)


def scratch_size(operator: tuple[Any, ...]) -> int:
    """Return the largest number of scratch numbers that a part needs."""
    return max([KIND_OF_CLASS[type(part)].scratch(part) for part in operator], default=0)


@inlined
def payoff_scratch(form: PayoffForm) -> np.ndarray:
    """Allocate scratch for a game's operator, float64."""
    return np.empty(scratch_size(form.operator))


def _source_per_part(operator: Any, role: str, line: str) -> tuple[dict[str, Any], str]:
    """Return source code with a statement per part of an operator, and the functions that it calls.

    Numba cannot compile a loop over parts of several kinds.
    """
    scope = {
        f"function_{k}": getattr(KIND_OF_CLASS[part.instance_class], role)
        for k, part in enumerate(operator)
    }
    return scope, "".join(line.format(k=k) for k in range(len(scope)))


@overload_piece(add_share)
def _add_share(operator, k, share):  # type: ignore[no-untyped-def]
    line = "    if k == {k}:\n        function_{k}(operator[{k}], share)\n"
    scope, lines = _source_per_part(operator, "add", line)
    exec(f"def add(operator, k, share) -> None:\n    pass\n{lines}", scope)
    scope["add"].stands_for = add_share
    return scope["add"]


@overload_piece(scratch_size)
def _scratch_size(operator):  # type: ignore[no-untyped-def]
    line = "    size = max(size, function_{k}(operator[{k}]))\n"
    scope, lines = _source_per_part(operator, "scratch", line)
    exec(f"def find(operator):\n    size = 0\n{lines}    return size", scope)
    return scope["find"]
