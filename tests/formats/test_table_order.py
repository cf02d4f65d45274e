"""Tables in the game's own order are read many rows at a time, to the same result as row by row."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from support.random_games import random_game, random_public_tree_game
from tensorcfr import CompiledGame, Policy, compile_game, solve
from tensorcfr._util import limits
from tensorcfr.formats import policy_table, read_policy, save_policy
from tensorcfr.formats.policies import policy_of_rows
from tensorcfr.model import infoset_numbers, labels, sequence_table

SOURCES: dict[str, Any] = {
    "kuhn": "kuhn",
    "leduc": "leduc(ranks=2)",
    "goofspiel": "goofspiel(cards=3)",
    "histories": random_game(1),
    "hands": random_public_tree_game(1),
}


@pytest.fixture(params=SOURCES, scope="module")
def policy(request: pytest.FixtureRequest) -> Policy:
    return solve(compile_game(SOURCES[request.param]), "cfr", iters=3).policy


@pytest.fixture(params=[2, 10**6], autouse=True)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infoset_numbers, "TOGETHER", request.param)
    monkeypatch.setattr(sequence_table, "TOGETHER", request.param)


def rows_of(policy: Policy) -> list[tuple[int, str, str, float]]:
    table = policy_table(policy)
    return [(i, label, action, p) for i, (_, label, action, p) in enumerate(table.rows())]


def same(game: CompiledGame, rows: list[tuple[int, str, str, Any]], policy: Policy) -> bool:
    found = policy_of_rows(game, iter(rows), "rows", lambda row: f"row {row}")
    return np.array_equal(found.probabilities, policy.probabilities)


def test_in_any_order(policy: Policy) -> None:
    rows = rows_of(policy)
    assert same(policy.game, rows, policy)
    rng = Random(1)
    for _ in range(5):
        begin = rng.randrange(len(rows))  # A first part in order, and the rest not.
        rest = rows[begin:]
        rng.shuffle(rest)
        assert same(policy.game, rows[:begin] + rest, policy)
    texts = [(place, label, action, repr(p)) for place, label, action, p in rows]
    assert same(policy.game, texts, policy)


def test_rows_left_out_have_probability_0(policy: Policy) -> None:
    game = policy.game
    label = next(
        (la for i, la in enumerate(game.infoset_labels) if len(game.infoset_actions[i]) > 1), None
    )
    if label is None:
        return
    first = game.infoset_actions[game.infoset_index[label]][0]
    rows = [
        (place, la, action, 1.0 if (la, action) == (label, first) else p)
        for place, la, action, p in rows_of(policy)
        if la != label or action == first
    ]
    found = policy_of_rows(game, iter(rows), "rows", str)
    assert found[label][first] == 1.0
    others = {la: dict(found[la]) for la in found if la != label}
    assert others == {la: policy[la] for la in policy if la != label}


def test_the_last_row_may_be_left_out_too(policy: Policy) -> None:
    game, rows = policy.game, rows_of(policy)
    label = game.infoset_labels[-1]
    first, *others = (row for row in rows if row[1] == label)
    if not others:
        return
    rows = [row for row in rows if row[1] != label]
    found = policy_of_rows(game, iter([*rows, (*first[:3], 1.0)]), "rows", str)
    assert list(found[label].values()) == [1.0] + [0.0] * len(others)
    assert {la: found[la] for la in found if la != label} == {
        la: policy[la] for la in policy if la != label
    }


def test_wrong_rows_are_named_by_their_place(policy: Policy) -> None:
    game, rows = policy.game, rows_of(policy)
    at = len(rows) // 2

    def refused(changed: list[tuple[int, str, str, Any]], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            policy_of_rows(game, iter(changed), "rows", lambda row: f"row {row}")

    place, label, action, _ = rows[at]
    refused([*rows[:at], (place, label, action, "x"), *rows[at + 1 :]], f"row {at}: 'x' is not")
    refused([*rows[:at], (place, label, action, None), *rows[at + 1 :]], f"row {at}: None is")
    refused([*rows[:at], (place, "zz", action, 0.5), *rows[at + 1 :]], f"row {at}: .* no infoset")
    refused([*rows[:at], (place, label, "zz", 0.5), *rows[at + 1 :]], f"row {at}: .* no action")
    refused([*rows, (len(rows), label, action, 0.5)], f"row {len(rows)}: .* is given twice")
    refused([*rows[:at], rows[at], *rows[at:]], "is given twice")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_files(policy: Policy, ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = save_policy(policy, tmp_path / f"policy.{ending}")
    found = read_policy(policy.game, path)
    np.testing.assert_array_equal(found.probabilities, policy.probabilities)


class TestParquet:
    """Files of others: other row groups, plain strings, further columns, another order."""

    @pytest.fixture
    def pa(self) -> Any:
        return pytest.importorskip("pyarrow")

    def written(self, pa: Any, table: Any, path: Path, **options: Any) -> Path:
        from pyarrow import parquet

        parquet.write_table(table, path, **options)
        return path

    @pytest.mark.parametrize("rows", [1, 3, 1000])
    def test_other_row_groups(self, pa: Any, policy: Policy, rows: int, tmp_path: Path) -> None:
        table = policy_table(policy).to_arrow()
        path = self.written(pa, table, tmp_path / "p.parquet", row_group_size=rows)
        found = read_policy(policy.game, path)
        np.testing.assert_array_equal(found.probabilities, policy.probabilities)

    def test_plain_strings_and_other_columns(self, pa: Any, policy: Policy, tmp_path: Path) -> None:
        rows = rows_of(policy)
        columns = {
            "note": list(range(len(rows))),
            "probability": [row[3] for row in rows],
            "action": [row[2] for row in rows],
            "infoset": [row[1] for row in rows],
        }
        path = self.written(pa, pa.table(columns), tmp_path / "p.parquet")
        found = read_policy(policy.game, path)
        np.testing.assert_array_equal(found.probabilities, policy.probabilities)
        backwards = {name: values[::-1] for name, values in columns.items()}
        path = self.written(pa, pa.table(backwards), tmp_path / "q.parquet")
        found = read_policy(policy.game, path)
        np.testing.assert_array_equal(found.probabilities, policy.probabilities)

    def test_wrong_tables(self, pa: Any, policy: Policy, tmp_path: Path) -> None:
        rows = rows_of(policy)
        columns: dict[str, list[Any]] = {
            "infoset": [row[1] for row in rows],
            "action": [row[2] for row in rows],
            "probability": [row[3] for row in rows],
        }

        def refused(changes: dict[str, list[Any]], message: str, **options: Any) -> None:
            table = pa.table({**columns, **changes})
            path = self.written(pa, table, tmp_path / "p.parquet", **options)
            with pytest.raises(ValueError, match=message):
                read_policy(policy.game, path)

        refused({"probability": [None, *columns["probability"][1:]]}, "None is not a probability")
        refused({"probability": [float("nan")] * len(rows)}, "not a distribution|not a probability")
        refused({"infoset": ["zz", *columns["infoset"][1:]]}, "no infoset 'zz'")
        longer = {name: [*values, values[-1]] for name, values in columns.items()}
        refused(longer, "given twice")
        refused(longer, "given twice", row_group_size=1)


@pytest.mark.parametrize("spec", ["kuhn", "leduc(ranks=2)", "liars_dice(faces=3)"])
def test_labels_that_are_made_when_asked_for(
    spec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Large games make labels piece by piece; here every game is large."""
    eager = compile_game(spec)
    monkeypatch.setattr(limits, "LAZY_LABELS_FROM", 0)
    lazy = compile_game(spec)
    assert type(lazy.infoset_labels) is not type(eager.infoset_labels)
    policy = solve(lazy, "cfr", iters=3).policy
    expected = Policy(eager, policy.probabilities)
    assert policy_table(policy).to_dict() == {label: expected[label] for label in expected}
    path = save_policy(policy, tmp_path / "policy.csv")
    for game in (lazy, eager):
        assert np.array_equal(read_policy(game, path).probabilities, policy.probabilities)


def test_labels_of_many_nodes() -> None:
    game = compile_game("liars_dice(faces=3)")
    assert game.public is not None
    nodes = np.flatnonzero(game.public.tree.player >= 0)
    Random(3).shuffle(order := nodes.tolist())
    for some in (nodes, nodes[:1], nodes[-3:], np.array(order)):
        expected = [game.public.node_label(node) for node in some.tolist()]
        assert labels._node_labels(game.public, some) == expected
