"""The payoff operator ``g = A x``: its kinds of parts, their verbs and their kernels.

``g[s]`` is the sum, over the terminals whose last own sequence is ``s``, of chance probability
times utility times the reaches of the other players.  The operator of a game is a tuple of parts,
``SequenceForm.operator``, and ``g`` the sum of their products.  A part is a named tuple of arrays
with the verbs of :class:`PayoffPart`, and a kernel in :mod:`tensorcfr.payoff.multiply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._util.declared import Declared, declared
from .blocks import PayoffBlocks
from .cards import PayoffCards, PayoffSubsets
from .entries import PayoffEntries

if TYPE_CHECKING:
    from ..model.arrays import SequenceForm

__all__ = [
    "ARRAYS",
    "KINDS",
    "PayoffBlocks",
    "PayoffCards",
    "PayoffEntries",
    "PayoffPart",
    "PayoffSubsets",
    "count_entries",
    "magnitudes",
    "nothing",
    "product",
    "triples",
]


class PayoffPart(Protocol):
    """The verbs of a part of the payoff operator, in plain NumPy.

    They follow the definition of the arrays and share no code with the kernels, so that each can
    be tested against the other.
    """

    @property
    def kind(self) -> str:
        """Name of the kind, a key of :data:`KINDS`: in files, and in the names of arrays."""

    @property
    def is_empty(self) -> bool:
        """Whether the part adds nothing."""

    def product(self, form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
        """What the part gives a player's sequences.

        Args:
            form: The game.
            player: The player.
            x: float64 (sequences,): a weight for every player's sequences.

        Returns:
            float64 (sequences of the player,).
        """

    def triples(self, form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The part entry by entry.

        Returns:
            int64 (entries,): own sequences; int64 (players - 1, entries): the others';
            float64 (entries,): values.  Entries with equal sequences are to be added.
        """

    def count_entries(self, form: SequenceForm, player: int) -> int:
        """How many entries :meth:`triples` gives, or a few more."""

    def magnitudes(self) -> PayoffPart:
        """The part with every payoff as its absolute value."""

    def describe(self) -> str:
        """Sizes, in a few words."""


KINDS: dict[str, Any] = {
    "payoff": PayoffEntries,
    "blocks": PayoffBlocks,
    "cards": PayoffCards,
}
"""The kinds of parts by name."""
ARRAYS: dict[str, Declared] = {name: declared(kind) for name, kind in KINDS.items()}
"""For each kind, dtype and shape of its arrays."""


SIZES = {"players": 2}
"""Sizes of arrays that a part has whatever it pays; games of two players alone have chunks."""


def nothing(kind: str) -> PayoffPart:
    """The part of a kind that pays nothing, in a game of two players: its arrays are empty, and
    those of offsets hold a 0."""
    arrays = ARRAYS[kind].values()
    found: PayoffPart = KINDS[kind](
        *(np.zeros([_least(size) for size in shape], dtype=dtype) for dtype, shape in arrays)
    )
    return found


def _least(size: int | str) -> int:
    """The least that a size of :data:`ARRAYS` can be, ``"groups + 1"`` for instance."""
    if isinstance(size, int):
        return size
    name, _, more = size.replace(" - ", " + -").partition(" + ")
    return SIZES.get(name, 0) + int(more or 0)


def product(form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
    """What the operator gives a player's sequences, float64; see :meth:`PayoffPart.product`."""
    begin, end = form.player_sequences[player : player + 2].tolist()
    g = np.zeros(end - begin)
    for part in form.operator:
        g += part.product(form, player, x)
    return g


def triples(form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A player's operator entry by entry; see :meth:`PayoffPart.triples`."""
    none = np.empty(0, dtype=np.int64)
    found = [(none, none.reshape(0, form.n_players - 1).T, np.empty(0))]
    found += [part.triples(form, player) for part in form.operator]
    rows, columns, values = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(columns, axis=1), np.concatenate(values)


def count_entries(form: SequenceForm, player: int) -> int:
    """How many entries :func:`triples` gives, or a few more."""
    return sum(part.count_entries(form, player) for part in form.operator)


def magnitudes(form: SequenceForm) -> SequenceForm:
    """The form with every payoff as its absolute value: its products bound the terms that a
    product of the form sums."""
    return form._replace(operator=tuple(part.magnitudes() for part in form.operator))
