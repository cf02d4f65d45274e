"""Spots of hold'em as text files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorcfr import compile_game
from tensorcfr.errors import FormatError
from tensorcfr.formats import parse_spot, read_spot, resolve_rules, save_spot, spot_text
from tensorcfr.games.holdem import Holdem

SPOT = """\
# After a check on the flop
board = "Td9d6hQc"
pot = 100
stacks = 300
raises = "2.5x"
rake = 0.05
add = ["check bet75"]

[ranges]
oop = "AA,KK"
ip = "QJs,JTs"

[bets]
turn = "60%"
river = { oop = "50%", ip = "a" }
"""


def test_a_spot_is_the_game_of_its_options(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "board": "Td9d6hQc",
        "ranges": ("AA,KK", "QJs,JTs"),
        "pot": 100,
        "stacks": 300,
        "raises": "2.5x",
        "rake": 0.05,
        "add": ("check bet75",),
        "bets": {"turn": "60%", "river": {"oop": "50%", "ip": "a"}},
    }
    expected = Holdem(**options)
    path = tmp_path / "spot.txt"
    path.write_text(SPOT)
    first, second = 'oop = "AA,KK"\n', 'ip = "QJs,JTs"\n'
    turned = changed(first + second, second + first)
    texts = (SPOT, turned, spot_text(expected))
    for found in (*map(parse_spot, texts), read_spot(path)):
        assert found.betting == expected.betting
        assert [own.tolist() for own in found.hands] == [own.tolist() for own in expected.hands]
        assert (found.rake, found.board) == (expected.rake, expected.board)
    game = compile_game(path)
    assert game.name == "holdem Td9d6hQc"
    # Without the file, its text finds it again.
    assert resolve_rules(game.recipe.source).rules.betting == expected.betting  # type: ignore[attr-defined]
    saved = save_spot(game, tmp_path / "again.toml")
    assert read_spot(saved).betting == expected.betting
    assert compile_game(saved).digest == game.digest


def changed(old: str, new: str) -> str:
    assert old in SPOT
    return SPOT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("pot = 100", "pot = = 100"), "spot:3:7: invalid value"),
        (changed("pot = 100", "pott = 100"), "spot:3:1: there is no option 'pott'; did you mean"),
        (changed("6hQc", "6hXc"), "spot:2:1: holdem: board: 'Xc' at character 7"),
        (changed('ip = "QJs', 'ip = "QX'), r"spot:11:1: holdem: ranges\[1\]: 'QX' at character 1"),
        (changed("ip =", "ipp ="), r"spot:9:2: \[ranges\] has the keys oop and ip"),
        (changed("= 300", "= 0"), "spot:4:1: holdem: stacks must be above 0"),
        (changed("= 300", '= "many"'), "spot:4:1: holdem: stacks must be"),
        (changed('"60%"', '"6p"'), r"spot:13:2: holdem: bets\['turn'\]: '6p' at character 1"),
        (changed("rake = 0.05", "rake = 2.0"), "spot:6:1: holdem: rake must be"),
        (changed("pot = 100\n", ""), "spot:1:1: holdem needs the parameter 'pot'"),
        (changed("= 300", "= " + "9" * 5000), "spot:16:1: exceeds the limit"),
        (changed('"60%"', '"' + "9" * 400 + '%"'), r"spot:13:2: holdem: bets\['turn'\]: '9"),
        ("", "needs the parameter 'board'"),
    ],
)
def test_bad_text_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_spot(text)


def test_no_donk_on_one_street_is_left_out() -> None:
    options = {"board": "Td9d6h", "ranges": ("AA", "KK"), "pot": 100, "stacks": 300}
    spot = Holdem(**options, bets="60%", donk={"turn": None, "river": "50%"})  # type: ignore[arg-type]
    assert parse_spot(spot_text(spot)).betting == spot.betting


def test_a_bad_range_is_found_below_its_heading() -> None:
    text = 'board = "Td9d6hQc"\npot = 100\nstacks = 300\n[bets]\noop = "60%"\n[ranges]\n'
    with pytest.raises(FormatError, match=r"^spot:7:1: holdem: ranges"):
        parse_spot(text + 'oop = "A"\nip = "KK"\n')


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "spot.toml"
    path.write_bytes(b'board = "Td"\nx = "\xff"')
    with pytest.raises(FormatError, match=r"spot\.toml:2:6: this byte is not UTF-8"):
        compile_game(path)
    path.write_bytes(b"a" * 1_000_001)
    with pytest.raises(FormatError, match="at most 1,000,000 bytes"):
        compile_game(path)
    with pytest.raises(ValueError, match=r"path must end in \.toml or \.txt"):
        save_spot(parse_spot(SPOT), tmp_path / "spot.csv")
    with pytest.raises(TypeError, match="must be a spot of holdem or omaha"):
        spot_text(compile_game("kuhn"))
