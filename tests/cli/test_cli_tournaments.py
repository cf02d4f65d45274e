"""Commands for tournaments: icm, and spots with prizes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import printed, refused
from support.slow_prizes import slow_bounties, slow_icm
from tensorcfr import CardGame, Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot, prize_table
from tensorcfr.games import make_spot
from tensorcfr.games.tournaments import risk

SPOT = {
    "board": "QsJh2h8d3c",
    "oop": "AsAh,KsQs,Tc9c,7h6h",
    "ip": "KsKh,QdJd,Th9h,5c5d",
    "pot": "100",
    "stacks": "200,350",
    "bets": "50%,a",
    "raises": "a",
    "payouts": "50,30,20",
    "others": "90,120",
}
AS_OPTIONS = [text for name, value in SPOT.items() for text in (f"--{name}", value)]


def rules(**more: Any) -> Any:
    """The rules of the spot above."""
    return make_spot(
        board=SPOT["board"],
        ranges=(SPOT["oop"], SPOT["ip"]),
        pot=100,
        stacks=(200, 350),
        bets=SPOT["bets"],
        raises="a",
        payouts=(50, 30, 20),
        others=(90, 120),
        **more,
    )


def test_icm() -> None:
    stacks, payouts = (2400, 2200, 3600, 1800), (50, 30, 20)
    text = printed("icm", "2400,2200,3600,1800", "--payouts", "50,30,20")
    rows = re.findall(r"^ +(\d) +([\d,]+) +([\d.]+) % +([\d.]+)$", text, re.MULTILINE)
    assert [row[3] for row in rows] == [f"{prize:.2f}" for prize in slow_icm(stacks, payouts)]
    assert rows[0][:3] == ("1", "2,400", "24.0")
    factors = risk(stacks, payouts).bubble_factors
    assert f"{factors[0, 1]:8.2f}{factors[0, 2]:8.2f}{factors[0, 3]:8.2f}" in text
    parsed = json.loads(
        printed("icm", "3,2,0", "--payouts", "5,3", "--bounties", "1,2,9", "--json")
    )
    assert parsed["prizes"] == pytest.approx(slow_icm((3, 2, 0), (5, 3)))
    assert parsed["bounties"] == pytest.approx([*slow_bounties((3, 2), (1, 2), 0.5), 0.0])
    assert parsed["bubble_factors"][0] == [None, pytest.approx(1.0), None]


def test_a_spot_with_prizes(tmp_path: Path) -> None:
    """The report has the numbers of the library; the file of the spot is the same spot."""
    saved, spot = tmp_path / "s.npz", tmp_path / "s.toml"
    text = printed(
        "spot",
        *AS_OPTIONS,
        "--iters",
        "20",
        "--save",
        saved,
        "--save-spot",
        spot,
        "--node",
        "bet50",
    )
    solution = solve(compile_game(rules()), iters=20)
    before = slow_icm((250, 400, 90, 120), (50, 30, 20))
    for player, name in enumerate(("oop", "ip")):
        now, gain = before[player] + solution.value[player], solution.evaluation.gains[player]
        assert (
            f"{name:<4} value {solution.value[player]:+.2f} in prizes: prizes {before[player]:.2f} "
            f"before the hand and {now:.2f} now; a best response gains {gain:.2g}" in text
        )
    assert "independent chip model" in text
    table = prize_table(solution, "bet50")
    best = int(np.argmax(table.prizes.value))
    numbers = " +".join(
        f"{number:.{decimals}f}"
        for row, decimals in ((table.chips[best], 1), (table.prizes.values[best], 2))
        for number in row
    )
    equity = f"{100 * table.prizes.equity[best]:.1f}"
    assert re.search(rf"{table.prizes.hands[best]} +{equity} +{numbers}", text)
    # Shown again from both files.
    again = printed("spot", saved, "--node", "bet50")
    assert text.split("bet50:")[1] == again.split("bet50:")[1]
    assert compile_game(spot).digest == Solution.load(saved).game.digest == solution.game.digest
    in_pot = printed("spot", saved, "--unit", "pot")
    worth = SolvedSpot(solution).units(solution.value[0], "pot")
    assert f"oop  value {worth:+.2f} % of the pot" in in_pot


def test_settings(tmp_path: Path) -> None:
    """Lists of a file of settings are read as the texts of the command line."""
    settings = tmp_path / "settings.toml"
    settings.write_text("[spot]\nbounties = [8, 5, 3, 2]\npayouts = [50, 30, 20]\n")
    options = [text for text in AS_OPTIONS if text not in ("--payouts", "50,30,20")]
    saved = tmp_path / "s.npz"
    printed("spot", *options, "--iters", "1", "--save", saved, "--settings", settings)
    assert Solution.load(saved).game.digest == compile_game(rules(bounties=(8, 5, 3, 2))).digest


def test_chips_next_to_prizes() -> None:
    """The chips of a hand are its values in the game without prizes, under the same strategies."""
    solution = solve(compile_game(rules()), "cfr+", iters=20, precision="float64")
    table = prize_table(solution, "bet50")
    chip_rules: CardGame = rules().chip_rules
    chips = compile_game(chip_rules)
    policy = {label: dict(row) for label, row in solution.policy.items()}
    assert evaluate(chips, policy).values[0] != pytest.approx(solution.value[0])
    # A fold loses half of the pot.
    np.testing.assert_allclose(table.chips[:, 0], -50.0, atol=1e-9)
    # A call wins or loses 100 chips, by equity.
    call = table.prizes.actions.index("call")
    np.testing.assert_allclose(table.chips[:, call], 200.0 * table.prizes.equity - 100.0, atol=1e-9)
    first = next(iter(table.rows()))
    assert first["call chips"] == pytest.approx(table.chips[0, call])
    with pytest.raises(TypeError, match="is not a hand of a tournament"):
        prize_table(solve(chips, iters=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--payouts", "50,x"], "--payouts '50,x': 'x' is not a number"),
        (["--payouts", "3,5"], "payouts[1] = 5 is above payouts[0] = 3"),
        (["--stacks", "1,2,3"], "stacks has 3 numbers; there are 2 players"),
        (["--others", "inf"], "others must be"),
    ],
)
def test_refusals(options: list[str], message: str) -> None:
    assert message in refused(2, "spot", *AS_OPTIONS, *options)


def test_refused_icm() -> None:
    assert "payouts[1] = 5" in refused(2, "icm", "1,2", "--payouts", "3,5")
    assert "stacks 'a'" in refused(2, "icm", "a", "--payouts", "3")
