"""Payoffs of three players in tables over all triples of their classes of hands."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from .._util.declared import check_declared, declared
from .._util.jit import inlined
from .._util.violations import fail, first_true, named_after
from .payoff_form import PayoffForm
from .payoff_kind import FormReader, PayoffKind
from .product_share import ProductShare
from .three_hands import PLAYERS


class PayoffTriples(NamedTuple):
    """Part of the payoff operator for three players whose payoffs depend on all three hands.

    All-ins before the first board card are paid by tables over triples of classes of hands, which
    the probability of the three classes is part of.  At terminal ``t``, player 0 gets

        g[a, t] += sum_k amount[0, t, k] * sum_{b, c} table[k, a, b, c] * x[b, t] * x[c, t]

    and likewise for the other players, whose own class takes the place of ``a``.
    """

    table: Annotated[np.ndarray, np.float64, "tables", "first", "second", "third"]
    """float64 (tables, classes of player 0, of player 1, of player 2)."""
    sequence: Annotated[np.ndarray, np.int64, 3, "terminals"]
    """int64 (3, terminals): last sequence of the first class of player ``i`` at each public
    terminal; the sequences of the other classes follow it."""
    amount: Annotated[np.ndarray, np.float64, 3, "terminals", "tables"]
    """float64 (3, terminals, tables): factor of each table in the payoffs of player ``i``."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "triples"

    @property
    def is_empty(self) -> bool:
        """True if there are no terminals."""
        return not self.sequence.shape[1]

    def tensor(self, player: int, terminal: int) -> np.ndarray:
        """Return a player's payoffs at a terminal, float64 (classes of player 0, 1, 2)."""
        return np.tensordot(self.amount[player, terminal], self.table, axes=1)

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute a player's payoffs; see :meth:`tensorcfr.payoff.PayoffPart.product`."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        for terminal, firsts in enumerate(self.sequence.T.tolist()):
            payoffs = self.tensor(player, terminal)
            # Later axes first, so that the numbers of the earlier axes stay the same.
            for axis in reversed(range(PLAYERS)):
                if axis != player:
                    reach = x[firsts[axis] : firsts[axis] + self.table.shape[1 + axis]]
                    payoffs = np.tensordot(payoffs, reach, axes=(axis, 0))
            g[firsts[player] - begin :][: len(payoffs)] += payoffs
        return g

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part entry by entry; see :meth:`tensorcfr.payoff.PayoffPart.triples`."""
        rows, columns, values = [np.empty(0, np.int64)], [np.empty((2, 0), np.int64)], [np.empty(0)]
        for terminal, firsts in enumerate(self.sequence.T):
            payoffs = self.tensor(player, terminal)
            classes = np.nonzero(payoffs)
            sequences = firsts[:, None] + np.array(classes)
            rows.append(sequences[player])
            columns.append(np.delete(sequences, player, axis=0))
            values.append(payoffs[classes])
        return np.concatenate(rows), np.concatenate(columns, axis=1), np.concatenate(values)

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return an upper bound of the number of entries that :meth:`triples` returns."""
        return self.sequence.shape[1] * int(np.prod(self.table.shape[1:]))

    def magnitudes(self) -> PayoffTriples:
        """Return the part with the absolute value of every table and amount."""
        return self._replace(table=np.abs(self.table), amount=np.abs(self.amount))

    def describe(self) -> str:
        """Return the numbers of terminals, tables and classes, as text."""
        classes = " x ".join(f"{n:,}" for n in self.table.shape[1:])
        return (
            f"{self.sequence.shape[1]:,} public terminals with {len(self.table):,} tables of "
            f"{classes} classes"
        )


@inlined
def triples_scratch(part: PayoffTriples) -> int:
    """Return the number of scratch numbers of a part: sums over the classes of player 2."""
    return part.table.shape[3]


@inlined
def add_triples(part: PayoffTriples, share: ProductShare) -> None:
    """Add the products of a share of the own classes."""
    player, reach, g = share.player, share.reach, share.g
    n_first, n_second, n_third = part.table.shape[1:]
    n_own = part.table.shape[1 + player]
    begin, end = share.number * n_own // share.of, (share.number + 1) * n_own // share.of
    sums = share.scratch[:n_third]
    for t in range(part.sequence.shape[1]):
        first = reach[part.sequence[0, t] :][:n_first]
        second = reach[part.sequence[1, t] :][:n_second]
        third = reach[part.sequence[2, t] :][:n_third]
        g_own = g[part.sequence[player, t] :]
        for k in range(part.table.shape[0]):
            amount = part.amount[player, t, k]
            if amount == 0.0:
                continue
            table = part.table[k]
            if player == 2:
                sums[:] = 0.0
                for a in range(n_first):
                    for b in range(n_second):
                        _add_row(sums[begin:end], first[a] * second[b], table[a, b, begin:end])
                for c in range(begin, end):
                    g_own[c] += amount * sums[c]
                continue
            # The rows of a table are those of player 2, so they are summed for one own class.
            for h in range(begin, end):
                sums[:] = 0.0
                if player == 0:
                    for b in range(n_second):
                        _add_row(sums, second[b], table[h, b])
                else:
                    for a in range(n_first):
                        _add_row(sums, first[a], table[a, h])
                total = 0.0
                for c in range(n_third):
                    total += sums[c] * third[c]
                g_own[h] += amount * total


@inlined
def _add_row(sums: np.ndarray, weight: float, row: np.ndarray) -> None:
    """Add a weighted row of a table; rows of weight 0 are not read."""
    if weight != 0.0:
        for c in range(len(row)):
            sums[c] += weight * row[c]


def check_shapes(part: PayoffTriples, reader: FormReader) -> None:
    """Check dtypes and shapes."""
    with named_after("triples."):
        check_declared(part._asdict(), declared(PayoffTriples), {})
    if reader.form.n_players != PLAYERS:
        fail(f"there are {reader.form.n_players} players")


def check_sequences(part: PayoffTriples, reader: FormReader) -> None:
    """Check that terminals end sequences of their players."""
    for player, ends in enumerate(part.sequence):
        low, high = reader.form.player_sequences[player : player + 2].tolist()
        wrong = (ends < low) | (ends + part.table.shape[1 + player] > high)
        if (terminal := first_true(wrong)) is not None:
            fail(f"terminal {terminal} ends sequence {ends[terminal]} of player {player}")


def check_numbers(part: PayoffTriples, reader: FormReader) -> None:
    """Check that tables and amounts are finite."""
    if (table := first_true(~np.isfinite(part.table).all(axis=(1, 2, 3)))) is not None:
        fail(f"a number of table {table} is not finite")
    if (terminal := first_true(~np.isfinite(part.amount).all(axis=(0, 2)))) is not None:
        fail(f"an amount of terminal {terminal} is not finite")


TRIPLES = PayoffKind(
    "triples",
    PayoffTriples,
    add_triples,
    triples_scratch,
    (
        ("E1", "arrays of hand triples", check_shapes),
        ("E2", "public terminals of hand triples", check_sequences),
        ("E3", "payoffs of hand triples are finite", check_numbers),
    ),
)
"""Kind of payoffs in tables over three classes of hands."""
