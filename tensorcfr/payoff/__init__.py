"""Payoff operator ``g = A x``: counterfactual payoffs of sequences from the opponents' reaches.

``g[s]`` is the sum, over the terminals whose last own sequence is ``s``, of chance probability
times utility times the reaches of the other players.  The operator of a game is a tuple of parts,
``SequenceForm.operator``, and ``g`` is the sum of their products.  There are five kinds of parts:

* :class:`PayoffEntries`: single entries, a sparse matrix, for any game;
* :class:`PayoffBlocks`: few hand-by-hand matrices that many public terminals share;
* :class:`PayoffCards` (and :class:`PayoffSubsets`, :class:`PayoffFiveCards`): folds and showdowns
  of hands of cards;
* :class:`PayoffThreeHands` (and :class:`PayoffThreeOrders`): the same for three players;
* :class:`PayoffTriples`: tables over three classes of hands, for all-ins before the flop.

Each part is a named tuple of arrays with the methods of :class:`PayoffPart`, in plain NumPy.  The
compiled product, the first phase of each iteration of a solver, is
:func:`tensorcfr.payoff.multiply.payoff_product`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from .._util.declared import Declared, declared, split_dimension
from .blocks import BLOCKS, PayoffBlocks
from .card_checks import CARDS, FIVE_CARDS, SUBSETS
from .card_payoffs import PayoffCards, PayoffFiveCards, PayoffSubsets
from .entries import ENTRIES, PayoffEntries
from .hand_triples import TRIPLES, PayoffTriples
from .payoff_form import PayoffForm
from .payoff_kind import PayoffKind
from .three_hand_orders import THREE_ORDERS
from .three_hand_sums import THREE_HANDS
from .three_hands import PayoffThreeHands, PayoffThreeOrders

__all__ = [
    "ARRAYS",
    "KINDS",
    "PayoffBlocks",
    "PayoffCards",
    "PayoffEntries",
    "PayoffFiveCards",
    "PayoffPart",
    "PayoffSubsets",
    "PayoffThreeHands",
    "PayoffThreeOrders",
    "PayoffTriples",
    "count_entries",
    "empty_part",
    "magnitudes",
    "product",
    "triples",
]


class PayoffPart(Protocol):
    """Methods of a part of the payoff operator, in plain NumPy.

    They follow the definition of the arrays and share no code with the kernels, so that each can be
    tested against the other.
    """

    @property
    def kind(self) -> str:
        """Name of the kind, a key of :data:`KINDS`; used in files and in the names of arrays."""

    @property
    def is_empty(self) -> bool:
        """True if the part adds nothing."""

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute the payoffs that the part adds to a player's sequences.

        Args:
            form: The game.
            player: The player.
            x: float64 (sequences,): a weight for every player's sequences.

        Returns:
            float64 (sequences of the player,).
        """

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part entry by entry.

        Returns:
            int64 (entries,): own sequences; int64 (players - 1, entries): the other players'
            sequences; float64 (entries,): payoffs.  Entries with equal sequences are to be added.
        """

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return the number of entries of :meth:`triples`, or a slightly larger number."""

    def magnitudes(self) -> PayoffPart:
        """Return the part with the absolute value of every payoff."""

    def describe(self) -> str:
        """Return the sizes of the part, in a few words."""


Form = TypeVar("Form", bound=PayoffForm)

KIND_OF_CLASS: dict[type, PayoffKind] = {}
"""Kinds of parts by class, in the order of the parts of an operator."""
KINDS: dict[str, Any] = {}
"""Classes of parts by name."""
ARRAYS: dict[str, Declared] = {}
"""Dtype and shape of the arrays of each kind."""


def register_kind(kind: PayoffKind) -> None:
    """Add a kind of parts, after the others in the order of the parts of an operator.

    Files, chunks, invariants and kernels find it by its name or its class.  Of kinds with one name,
    the last one reads files.  Classes should be in this package: the cache of compiled kernels has
    their names, and a process that cannot import one of them compiles these kernels again.
    """
    KIND_OF_CLASS[kind.part] = kind
    KINDS[kind.name] = kind.part
    ARRAYS[kind.name] = declared(kind.part)


for _kind in (ENTRIES, BLOCKS, FIVE_CARDS, SUBSETS, CARDS, THREE_ORDERS, THREE_HANDS, TRIPLES):
    register_kind(_kind)

SIZES = {"players": 2}
"""Sizes of arrays that every part has; only games of two players have chunks."""


def empty_arrays(kind: type[PayoffPart]) -> list[np.ndarray]:
    """Return the arrays of an empty part, for a game of two players; arrays of offsets hold a 0."""
    arrays = [(dtype, map(split_dimension, shape)) for dtype, shape in declared(kind).values()]
    return [
        np.zeros([SIZES.get(name, 0) + offset for name, offset in shape], dtype=dtype)
        for dtype, shape in arrays
    ]


def empty_part(kind: Any) -> PayoffPart:
    """Return an empty part of a kind; see :func:`empty_arrays`."""
    part: PayoffPart = kind(*empty_arrays(kind))
    return part


def product(form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
    """Compute a player's counterfactual payoffs, float64; see :meth:`PayoffPart.product`."""
    begin, end = form.player_sequences[player : player + 2].tolist()
    g = np.zeros(end - begin)
    for part in form.operator:
        g += part.product(form, player, x)
    return g


def triples(form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a player's operator entry by entry; see :meth:`PayoffPart.triples`."""
    empty = np.empty(0, dtype=np.int64)
    parts = [(empty, empty.reshape(0, form.n_players - 1).T, np.empty(0))]
    parts += [part.triples(form, player) for part in form.operator]
    rows, columns, values = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(columns, axis=1), np.concatenate(values)


def count_entries(form: PayoffForm, player: int) -> int:
    """Return the number of entries that :func:`triples` returns, or a slightly larger number."""
    return sum(part.count_entries(form, player) for part in form.operator)


def magnitudes(form: Form) -> Form:
    """Return the form with the absolute value of every payoff.

    Its products bound the terms that a product of the form sums.
    """
    return form._replace(operator=tuple(part.magnitudes() for part in form.operator))
