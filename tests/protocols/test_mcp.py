"""Tools for AI assistants: the official client lists and calls each of them."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from tensorcfr import compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.games.tournaments import icm
from tensorcfr.protocols.mcp_server import Limits, mcp_server

SPOT = {"board": "Qs7s3h2dAc", "oop": "AA,QQ", "ip": "KK", "pot": 10, "stacks": 10, "bets": "a"}


def calls(server: Any, *wanted: tuple[str, dict[str, Any]]) -> tuple[set[str], list[Any]]:
    """Return the names of the tools, and the answers to calls; errors as texts."""
    mcp = pytest.importorskip("mcp")

    async def call() -> tuple[set[str], list[Any]]:
        async with mcp.Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            results = [await client.call_tool(name, options) for name, options in wanted]
        return names, [r.content[0].text if r.is_error else r.structured_content for r in results]

    return asyncio.run(call())


@pytest.mark.usefixtures("interpreted")
def test_the_client_calls_every_tool() -> None:
    pytest.importorskip("mcp")
    options = {"target": "0.01%", "raises": ""}
    names, (solved, quality, start, bet, prizes) = calls(
        mcp_server(),
        ("solve_spot", SPOT | options),
        ("exploitability", {"solution": "spot1"}),
        ("show_line", {"solution": "spot1"}),
        ("show_line", {"solution": "spot1", "line": "allin", "hands": 2}),
        ("icm", {"stacks": [50, 30, 20], "payouts": [70, 30]}),
    )
    assert names == {"solve_spot", "exploitability", "show_line", "icm"}
    spot = {"board": "Qs7s3h2dAc", "ranges": ("AA,QQ", "KK"), "pot": 10, "stacks": 10, "bets": "a"}
    solution = solve(compile_game("holdem", **spot), target="0.01%", time_limit=60.0)
    assert solved["solution"] == "spot1"
    assert quality == {key: value for key, value in solved.items() if key != "solution"} | {
        "seconds": quality["seconds"]
    }
    for answer in (solved, quality, start, bet):
        assert answer["unit"] == "chips"
        assert answer["exploitability"] == solution.exploitability <= 1e-3
        assert answer["guarantee"] == solution.guarantee
    assert solved["values"]["oop"] == solution.value[0]
    # The nuts: every hand of player 0 beats every hand of player 1, who folds.
    assert solved["values"] == pytest.approx({"oop": 5.0, "ip": -5.0}, abs=0.01)
    table = SolvedSpot(solution).table("allin")
    assert bet["frequencies"] == pytest.approx(table.frequencies, rel=1e-5)
    assert bet["player"] == "ip"
    assert len(bet["hands"]) == 2
    assert bet["hands_left_out"] == 4
    assert start["hands"][0].keys() >= {"hand", "weight", "value", "allin", "value of allin"}
    assert prizes["prizes"] == icm((50, 30, 20), (70, 30)).tolist()
    assert {"unit", "exploitability", "guarantee"} <= prizes.keys()


@pytest.mark.usefixtures("interpreted")
def test_bad_calls_get_errors_and_limits_hold() -> None:
    pytest.importorskip("mcp")
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("show_line", {"solution": "spot9"}, "there is no solution 'spot9'; there are: none yet"),
        ("solve_spot", SPOT | {"board": "Qs7s"}, "a board has 3 to 5"),
        ("solve_spot", SPOT | {"seconds": 3.0}, "seconds must be above 0 and at most 2"),
        ("solve_spot", SPOT | {"game": "leduc"}, "game must be one of"),
        ("solve_spot", SPOT | {"board": "Qs7s3h", "ip": "random"}, "memory"),
        ("icm", {"stacks": [1], "payouts": [1, 2, 3]}, "payouts[1] = 2 is above payouts[0] = 1"),
    ]
    server = mcp_server(Limits(seconds=2.0, memory=1 << 16))
    _, answers = calls(server, *((name, options) for name, options, _ in wrong))
    for (_, _, problem), answer in zip(wrong, answers, strict=True):
        assert isinstance(answer, str)
        assert problem in answer


@pytest.mark.full
def test_the_command_serves_on_standard_output() -> None:
    pytest.importorskip("mcp")
    from mcp.client.stdio import StdioServerParameters

    command = StdioServerParameters(command=sys.executable, args=["-m", "tensorcfr", "mcp"])
    names, answers = calls(command, ("icm", {"stacks": [50, 50], "payouts": [100]}))
    assert "solve_spot" in names
    assert answers[0]["prizes"] == [50.0, 50.0]
