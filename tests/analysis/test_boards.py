"""A spot on many boards, and flops that represent all."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import tensorcfr.analysis.board_reports as module
from support.command_line import USAGE, printed, refused
from tensorcfr import compile_game, solve
from tensorcfr.analysis import SolvedSpot, solve_boards
from tensorcfr.formats import save_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.poker.deck import RANKS
from tensorcfr.games.poker.flops import flops
from tensorcfr.solvers.solution import Status

SPOT = Holdem(
    board="QsJh2h8d", ranges=("AA,KQs", "TT,AQs"), pot=80, stacks=100, bets="60%", raises="a"
)
RIVERS = ["QsJh2h8d3c", "AsJh2h8d3c"]


def suits_changed(board: str) -> set[frozenset[str]]:
    """All flops that a change of suits makes of one."""
    cards = [board[k : k + 2] for k in range(0, 6, 2)]
    tables = (dict(zip("cdhs", order, strict=True)) for order in permutations("cdhs"))
    return {frozenset(rank + table[suit] for rank, suit in cards) for table in tables}


def test_all_flops() -> None:
    """1,755 classes, 22,100 flops; a class has as many flops as its suits can change."""
    found = flops()
    assert len(found) == 1755
    assert sum(flop.weight for flop in found) == pytest.approx(1.0, abs=1e-12)
    seen: set[frozenset[str]] = set()
    for flop in found[::7]:
        alike = suits_changed(flop.board)
        assert flop.weight * 22_100 == pytest.approx(len(alike), abs=1e-9)
        assert not alike & seen
        seen |= alike


@pytest.mark.parametrize("count", [1, 25, 184, 1754])
def test_some_flops_represent_all(count: int) -> None:
    """Suits, pairs and high cards are as frequent as among all flops, to one flop or two."""

    def shares(some: Any) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for board, weight in some:
            ranks, suits = board[::2], board[1::2]
            found["suits", len(set(suits))] += weight
            found["ranks", len(set(ranks))] += weight
            found["high", RANKS.index(ranks[0]) >= 10] += weight
        return found

    chosen = flops(count)
    assert sum(flop.weight for flop in chosen) == pytest.approx(1.0, abs=1e-12)
    assert len({flop.board for flop in chosen}) == len(chosen) <= count
    expected = shares(flops())
    found = shares(chosen)
    for what, share in expected.items():
        assert found[what] == pytest.approx(share, abs=2.0 / count)


def test_wrong_boards() -> None:
    for wrong, message in [
        ([], "a number of flops"),
        ("Td9d6h", "a number of flops"),
        ([3], "a board is a text"),
        (["Td9d6h", "Td9d6h"], "twice"),
        (0, "a number of flops"),
        (1756, "a number of flops up to 1,755"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            solve_boards(SPOT, wanted_of(wrong))
    with pytest.raises(ValueError, match="has no hand on AsAdAhAc"):
        solve_boards(Holdem(**(SPOT.options | {"ranges": ("AA", "TT")})), ["AsAdAhAc"])


def wanted_of(wrong: Any) -> Any:
    """Anything, for the type checker."""
    return wrong


@pytest.mark.compiled
def test_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are those of single solves; a report that is broken off goes on with the board that is
    missing; the command says the same."""
    table = tmp_path / "rivers.csv"

    def asked(boards: Sequence[str] = RIVERS, **options: Any) -> Any:
        given = {"line": "check", "target": "0.1%", "table": table}
        return solve_boards(SPOT, boards, **given | options)

    report = asked()
    for row in report.rows:
        game = compile_game(Holdem(**(SPOT.options | {"board": row["board"]})))
        # 0.1 % of the pot.
        solution = solve(game, target=0.08, precision="float32")
        own = SolvedSpot(solution).table("check")
        assert row["player"] == "ip"
        assert row["exploitability"] == solution.exploitability
        assert (row["value"], row["equity"]) == (own.mean(own.value), own.mean(own.equity))
        assert {action: row[action] for action in report.actions} == own.frequencies
    assert report.means["value"] == pytest.approx(
        sum(row["value"] for row in report.rows) / 2, abs=1e-12
    )

    # Broken off after the first board.
    whole = table.read_text()
    lines = whole.splitlines(keepends=True)
    table.write_text("".join(lines[:2]))
    solved: list[str] = []
    monkeypatch.setattr(module, "compile_game", lambda rules, **options: _noted(solved, rules))
    again = asked()
    assert solved == RIVERS[1:]
    for row, other in zip(again.rows, report.rows, strict=True):
        assert row | {"seconds": 0} == other | {"seconds": 0}
    # Boards that are not asked for stay in the table.
    solved.clear()
    with pytest.raises(ValueError, match=r"target=0\.1 needs a unit: '0\.1%' or '0\.1 chips'"):
        asked(RIVERS[1:], target=0.1)
    (alone,) = asked(RIVERS[1:]).rows
    assert (alone["board"], alone["weight"], solved) == (RIVERS[1], 1.0, [])
    with table.open(newline="") as file:
        assert [row["board"] for row in csv.DictReader(file)] == RIVERS
    with pytest.raises(ValueError, match=r"rivers.csv, line 2, is of another spot"):
        asked(target="0.2%")

    # A table that somebody has edited.
    columns, cells = lines[0].strip().split(","), lines[1].strip().split(",")
    edited = tmp_path / "edited.csv"

    def refused_table(text: str, message: str) -> None:
        edited.write_text(text, "latin-1")
        with pytest.raises(ValueError, match=message):
            asked(table=edited)

    no_row = "line 2, is not a row of a report"
    for column, value in (
        *(("value", "much"), ("value", "nan"), ("value", "inf"), ("weight", "-1")),
        *(("iterations", "-1"), ("iterations", "1.5"), ("exploitability", "1e999")),
        *(("player", "ip2"), ("spot", cells[-1] + ",1"), (report.actions[0], "0.9999")),
    ):
        damaged = [value if c == column else cell for c, cell in zip(columns, cells, strict=True)]
        refused_table(lines[0] + ",".join(damaged) + "\n", no_row)
    refused_table(lines[0] + lines[1] + lines[1], "line 3, is not a row of a report")
    refused_table(lines[0].replace("value", "vale") + lines[1], no_row)
    refused_table(lines[0].replace(report.actions[0], "wait") + lines[1], "different columns for")
    refused_table("\xff\xfe", r"edited\.csv is not a CSV file")

    # Ctrl-C in the second solve leaves the first row.
    table.write_text("".join(lines[:2]))

    class Broken:
        status = Status.INTERRUPTED

    monkeypatch.setattr(module, "solve", lambda *given, **options: Broken())
    with pytest.raises(KeyboardInterrupt):
        asked()
    with table.open(newline="") as file:
        assert [row["board"] for row in csv.DictReader(file)] == RIVERS[:1]
    monkeypatch.undo()

    path = save_spot(SPOT, tmp_path / "spot.toml")
    text = printed(
        *("boards", path, *RIVERS, "--table", table, "--node", "check", "--target", "0.1%")
    )
    head, names, *lines = text.splitlines()
    assert head == "check: ip to act; per cent, values in chips"
    assert names.split() == ["board", *report.actions, "value", "equity"]
    for line, row in zip(lines, (*report.rows, {"board": "mean", **report.means}), strict=True):
        shares = [f"{100 * row[action]:.1f}" for action in report.actions]
        assert line.split() == [
            row["board"],
            *shares,
            f"{row['value']:.2f}",
            f"{100 * row['equity']:.1f}",
        ]
    assert refused(USAGE, "boards", path, "25", "--table", "a.json").startswith("--table a.json")


@pytest.mark.compiled
def test_a_report_by_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a star in the line there is a row for each card; a board that is half written is solved
    again; means by board and card are those of their rows."""
    boards, line, table = ["QsJh2h8d", "AsJh2h8d"], "check check *", tmp_path / "turns.csv"

    def asked(**options: Any) -> Any:
        return solve_boards(SPOT, boards, line=line, target="1%", **options)

    report = asked(table=table)
    assert report.dealt == ("river",)
    assert len(report.rows) == 2 * 48
    for board in boards:
        game = compile_game(Holdem(**(SPOT.options | {"board": board})))
        solution = solve(game, target=0.8, precision="float32")
        found = SolvedSpot(solution).runouts(line, equity=True)
        own = [row for row in report.rows if row["board"] == board]
        assert [(row["river"],) for row in own] == list(found.cards)
        for k, row in enumerate(own):
            assert row["weight"] == pytest.approx(found.probability[k] / 2, abs=1e-15)
            assert (row["value"], row["equity"]) == pytest.approx(
                (found.value[k], found.equity[k]), abs=0, nan_ok=True
            )
            shares = [row[action] for action in report.actions]
            assert shares == pytest.approx(found.frequency[k].tolist(), abs=0, nan_ok=True)

    # Written in part: the second board has 10 rows and a half.
    lines = table.read_text().splitlines(keepends=True)
    solved: list[str] = []
    monkeypatch.setattr(module, "compile_game", lambda rules, **options: _noted(solved, rules))
    table.write_text("".join(lines[:59]) + lines[59][:20])
    again = asked(table=table)
    assert solved == boards[1:]
    for row, other in zip(again.rows, report.rows, strict=True):
        for column, value in other.items():
            if isinstance(value, float) and column != "seconds":
                value = pytest.approx(value, rel=1e-14, abs=0, nan_ok=True)
            assert row[column] == value or column == "seconds"
    assert len(table.read_text().splitlines()) == 1 + 2 * 48
    # A card with which nobody gets there counts nothing.
    columns, cells = lines[0].strip().split(","), lines[1].strip().split(",")
    unseen = dict.fromkeys(("value", "equity", *report.actions), "nan") | {"weight": "0.0"}
    cells = [unseen.get(column, cell) for column, cell in zip(columns, cells, strict=True)]
    table.write_text("".join([lines[0], ",".join(cells) + "\n", *lines[2:]]))
    partly = asked(table=table)
    assert partly.rows[0]["weight"] == 0
    assert partly.group_by("board")[0]["weight"] == pytest.approx(0.5, abs=1e-12)
    assert partly.means["value"] == pytest.approx(report.means["value"], abs=1)
    solved.clear()
    table.write_text("".join(lines[:20] + lines[49:]))
    with pytest.raises(ValueError, match="has 19 rows of QsJh2h8d, not 48"):
        asked(table=table)
    table.write_text("".join([*lines[:2], lines[1], *lines[3:]]))
    with pytest.raises(ValueError, match="line 3, is not a row of a report"):
        asked(table=table)
    assert not solved

    # Means, row by row.
    for found, key in (
        (report.group_by("board"), "board"),
        (report.group_by("river"), "river"),
        (report.group_by(lambda row: row["river"][0]), "group"),
    ):
        assert sum(one["weight"] for one in found) == pytest.approx(1.0, abs=1e-12)
        for one in found:
            own = [
                row
                for row in report.rows
                if one[key] in (row["board"], row["river"], row["river"][0]) and row["weight"]
            ]
            weight = sum(row["weight"] for row in own)
            assert one["weight"] == pytest.approx(weight, abs=1e-15)
            if own:
                value = sum(row["weight"] * row["value"] for row in own) / weight
                assert one["value"] == pytest.approx(value, abs=1e-12)
    assert report.group_by("board")[0]["weight"] == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(ValueError, match="key must be one of board, river, suits, pairing"):
        report.group_by("turn")
    with pytest.raises(ValueError, match="boards must all have the same number of cards"):
        solve_boards(SPOT, ["QsJh2h8d", "AsJh2h"], line=line)

    path = save_spot(SPOT, tmp_path / "spot.toml")
    table.write_text("".join(lines))
    text = printed(
        *("boards", path, *boards, "--table", table, "--node", line, "--target", "1%")
    ).splitlines()
    ranks = [row.split()[0] for row in text[text.index(next(t for t in text if "river" in t)) :]]
    assert ranks == ["river", *RANKS[::-1], "mean"]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("line", "dealt", "count"),
    [
        ("check check *", ("turn",), 49),
        ("check check 3c check check *", ("river",), 48),
        pytest.param(
            "check check * check check *", ("turn", "river"), 49 * 48, marks=pytest.mark.full
        ),
    ],
)
def test_cards_of_both_streets(line: str, dealt: tuple[str, ...], count: int) -> None:
    """A flop has a column for the turn, or for turn and river; a given card has none."""
    flop = Holdem(**(SPOT.options | {"board": "QsJh2h", "ranges": ("AsAd", "TsTd"), "bets": ""}))
    report = solve_boards(flop, ["QsJh2h"], line=line, equity=False, target="1%")
    assert (report.dealt, len(report.rows)) == (dealt, count)
    assert sum(row["weight"] for row in report.rows) == pytest.approx(1.0, abs=1e-12)
    # A card of either hand cannot come.
    weights = {row[dealt[0]]: row["weight"] for row in report.group_by(dealt[0])}
    unseen = {card for card, weight in weights.items() if weight == 0}
    assert unseen == {"As", "Ad", "Ts", "Td"}


def _noted(solved: list[str], rules: Holdem) -> Any:
    solved.append(rules.options["board"])
    return compile_game(rules)
