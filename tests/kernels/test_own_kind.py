"""A kind of payoffs needs one file: this one defines a kind that the library does not have.

The kind is a sum of outer products, ``g[s] += u[s] * sum(v[t] * x[t])``.  If it takes the place of
the single entries of a game, every function computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from support.equality import PerturbedHands
from support.products import pay, random_reach
from tensorcfr import Solver, compile_game, load_game, payoff, save_game, solve
from tensorcfr._util.jit import inlined
from tensorcfr._util.jit_cache import KernelCache
from tensorcfr._util.violations import check_ranges, fail, first_true
from tensorcfr.compilers.invariants import check
from tensorcfr.errors import InvariantError
from tensorcfr.games import make_game
from tensorcfr.kernels.shapes import shape_form
from tensorcfr.model.chunked_form import pack
from tensorcfr.model.flat_game import FlatGame
from tensorcfr.payoff.payoff_form import PayoffForm
from tensorcfr.payoff.payoff_kind import FormReader, PayoffKind
from tensorcfr.payoff.product_share import ProductShare

# ----------------------------------------------------------------------------------- the new kind


class PayoffFactors(NamedTuple):
    """Sum of outer products, for two players.

    Player ``i`` has the range ``2 * k + i`` of ``sequence`` and ``weight`` in outer product ``k``.
    A pair of sequences pays the product of their weights.  It is in one outer product only.
    """

    begin: Annotated[np.ndarray, np.int64, "factors + 1"]
    """int64 (factors + 1,): start of each range."""
    sequence: Annotated[np.ndarray, np.uint32, "numbers"]
    """uint32 (numbers,): sequences of the players."""
    weight: Annotated[np.ndarray, np.float64, "numbers"]
    """float64 (numbers,): weights of these sequences."""
    unit: Annotated[np.ndarray, np.float64, "players"]
    """float64 (players,): factor of each player's payoffs; 1 and -1 if they sum to 0."""

    kind = "factors"

    @property
    def is_empty(self) -> bool:
        return not len(self.weight)

    def terms(self, player: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Own sequences and payoffs of each term, then the other player's sequences and weights."""
        sequences = self.sequence.astype(np.int64)
        for k in range(0, len(self.begin) - 1, 2):
            ranges = [slice(*self.begin[k + i : k + i + 2].tolist()) for i in range(2)]
            own, other = ranges[player], ranges[1 - player]
            payoffs = self.unit[player] * self.weight[own]
            yield sequences[own], payoffs, sequences[other], self.weight[other]

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        for own, payoffs, others, weights in self.terms(player):
            g[own - begin] += payoffs * (weights @ x[others])
        return g

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, columns, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for own, payoffs, others, weights in self.terms(player):
            rows.append(np.repeat(own, len(others)))
            columns.append(np.tile(others, len(own)))
            values.append(np.outer(payoffs, weights).ravel())
        return np.concatenate(rows), np.concatenate(columns)[None], np.concatenate(values)

    def count_entries(self, form: PayoffForm, player: int) -> int:
        return sum(len(own) * len(others) for own, _, others, _ in self.terms(player))

    def magnitudes(self) -> PayoffFactors:
        return self._replace(weight=np.abs(self.weight), unit=np.abs(self.unit))

    def describe(self) -> str:
        return f"{len(self.begin) // 2:,} outer products"


@inlined
def add_factors(part: PayoffFactors, share: ProductShare) -> None:
    """Add the outer products; the first share has all of them."""
    for k in range(0, part.begin.shape[0] - 1 if share.number == 0 else 0, 2):
        own, other = k + share.player, k + 1 - share.player
        total = 0.0
        for j in range(part.begin[other], part.begin[other + 1]):
            total += part.weight[j] * share.reach[part.sequence[j]]
        for j in range(part.begin[own], part.begin[own + 1]):
            share.g[part.sequence[j]] += part.unit[share.player] * part.weight[j] * total


@inlined
def factors_scratch(part: PayoffFactors) -> int:
    return 0


def check_factors(part: PayoffFactors, reader: FormReader) -> None:
    """Factors are pairs of ranges."""
    check_ranges("factors.begin", part.begin, len(part.sequence), what="factor")
    if len(part.begin) % 2 != 1:
        fail(f"there are {len(part.begin) - 1} factors, which are not pairs")


def check_sequences(part: PayoffFactors, reader: FormReader) -> None:
    """Factors have sequences of their player."""
    bounds = reader.form.player_sequences
    owner = np.repeat(np.arange(len(part.begin) - 1) % 2, np.diff(part.begin))
    wrong = (part.sequence < bounds[owner]) | (part.sequence >= bounds[owner + 1])
    if (j := first_true(wrong)) is not None:
        fail(f"factors.sequence[{j}] is {part.sequence[j]}, not one of player {owner[j]}")


FACTORS = PayoffKind(
    "factors",
    PayoffFactors,
    add_factors,
    factors_scratch,
    (("F1", "factors", check_factors), ("F2", "sequences of factors", check_sequences)),
)


# ------------------------------------------------------------------------------- the same numbers


class ZeroSum(PerturbedHands):
    """A game without ties, at which two correct programs may part."""

    def matrix(self, key: Any) -> np.ndarray:
        own = super().matrix(key)[0]
        return np.stack([own, -own])


def factors_of(game: FlatGame) -> PayoffFactors:
    """The entries of a game as outer products: rows with equal payoffs are one term."""
    entries = game.form.operator[0]
    rows, (columns,), values = entries.triples(game.form, 0)
    by_payoffs: dict[tuple[Any, ...], list[int]] = {}
    for row in np.unique(rows).tolist():
        of_row = rows == row
        key = tuple(columns[of_row].tolist()), tuple(values[of_row].tolist())
        by_payoffs.setdefault(key, []).append(row)
    sides = [
        side
        for (others, payoffs), own in by_payoffs.items()
        for side in ((own, [1.0] * len(own)), (others, payoffs))
    ]
    return PayoffFactors(
        begin=np.cumsum([0, *(len(sequences) for sequences, _ in sides)]),
        sequence=np.array([s for sequences, _ in sides for s in sequences], dtype=np.uint32),
        weight=np.array([w for _, weights in sides for w in weights]),
        unit=np.array([1.0, -1.0]),
    )


Pair = tuple[FlatGame, FlatGame]
"""The game with entries, and with factors in their place."""


@pytest.fixture
def games() -> Iterator[Pair]:
    tables: tuple[dict[Any, Any], ...] = payoff.KIND_OF_CLASS, payoff.KINDS, payoff.ARRAYS
    before = [dict(table) for table in tables]
    payoff.register_kind(FACTORS)
    try:
        entries = compile_game(ZeroSum(make_game("kuhn"), 3))  # type: ignore[arg-type]
        assert isinstance(entries, FlatGame)
        form = entries.form._replace(operator=(factors_of(entries),))
        yield entries, replace(entries, form=form)
    finally:
        for table, kinds in zip(tables, before, strict=True):
            table.clear()
            table.update(kinds)


def factors(game: FlatGame) -> PayoffFactors:
    (part,) = game.form.operator
    assert isinstance(part, PayoffFactors)
    return part


def spoiled(game: FlatGame, **arrays: np.ndarray) -> FlatGame:
    operator = (factors(game)._replace(**arrays),)
    return replace(game, form=game.form._replace(operator=operator))


def check_products(games: Pair) -> None:
    """Of the method and of the kernel, and the entries behind both."""
    entries, outer = games
    reach = random_reach(entries)
    for player in range(2):
        expected = payoff.product(entries.form, player, reach)
        np.testing.assert_allclose(
            payoff.product(outer.form, player, reach), expected, rtol=1e-12, atol=1e-15
        )
        g = np.full(entries.n_sequences, np.nan)
        pay(outer.form, player, reach, g)
        own = slice(*entries.form.player_sequences[player : player + 2])
        np.testing.assert_allclose(g[own], expected, rtol=1e-12, atol=1e-15)
        found, wanted = (
            sorted(zip(rows.tolist(), *columns.tolist(), values.tolist(), strict=True))
            for rows, columns, values in (payoff.triples(of.form, player) for of in games)
        )
        assert found == wanted
        assert payoff.count_entries(outer.form, player) == len(found)
        # Fewer numbers than entries, or the kind would have no use.
        assert len(factors(outer).weight) < 2 * len(found)


def test_products(games: Pair, interpreted: None) -> None:
    check_products(games)


def assert_solved_alike(games: Pair, algorithm: str) -> None:
    entries, outer = (Solver(game, algorithm) for game in games)
    for count in (1, 2, 5, 12):
        entries.iterate(count)
        outer.iterate(count)
        for expected, found in zip(entries.state, outer.state, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
        assert outer.evaluate().exploitability == pytest.approx(
            entries.evaluate().exploitability, rel=1e-11
        )


@pytest.mark.parametrize("algorithm", ["cfr", "pcfr+"])
def test_solutions(games: Pair, algorithm: str, interpreted: None) -> None:
    check(games[1], expand=True)
    assert_solved_alike(games, algorithm)


@pytest.mark.full
@pytest.mark.compiled
def test_compiled_solutions(games: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other processes cannot import the class, and would remove a cache that holds it.
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)
    check_products(games)
    assert_solved_alike(games, "cfr")


def test_the_linear_program(games: Pair, interpreted: None) -> None:
    entries, outer = (solve(game, "lp").value[0] for game in games)
    assert outer == pytest.approx(entries, abs=1e-12)


def test_broken_arrays(games: Pair) -> None:
    _, outer = games
    part = factors(outer)
    for arrays, message in (
        ({"weight": part.weight[1:]}, r"A1 \(dtypes and shapes\): .*factors\."),
        ({"begin": part.begin[:-1]}, r"F1 \(factors\): factors\.begin ends at"),
        ({"sequence": part.sequence[::-1].copy()}, r"F2 \(sequences of factors\): .*\[0\] is "),
        ({"weight": 2 * part.weight}, r"V12 \(payoffs equal the public tree's\)"),
    ):
        with pytest.raises(InvariantError, match=message):
            check(spoiled(outer, **arrays))


def test_files_and_texts(games: Pair, tmp_path: Path) -> None:
    _, outer = games
    loaded = load_game(save_game(outer, tmp_path / "outer.npz"))
    for name, array in factors(loaded)._asdict().items():  # type: ignore[arg-type]
        np.testing.assert_array_equal(array, getattr(factors(outer), name))
    assert loaded.digest == outer.digest
    assert f"{len(factors(outer).begin) // 2} outer products" in loaded.summary()


def test_shapes_of_chunks(games: Pair) -> None:
    """Chunks hold the kind in their pools, and kernels read it from there."""
    form = games[1].form
    shapes = pack([form], (PayoffFactors,))
    (part,) = shape_form(shapes, 0).operator
    for name, array in factors(games[1])._asdict().items():
        np.testing.assert_array_equal(getattr(part, name), array, err_msg=name)
