"""The betting of games of cards is counted right, fast, and within limits of memory and time."""

from __future__ import annotations

import io
import json
import re
from itertools import combinations
from math import factorial, prod
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomCards
from support.slow_betting import counted
from support.tiers import tiered
from tensorcfr import GameError, MemoryLimitError, compile_game, load_game, save_game
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards.card_sums import unfold
from tensorcfr.compilers.sizes import counted as counting
from tensorcfr.compilers.sizes.counted import count_betting
from tensorcfr.errors import FileSizeError
from tensorcfr.games import make_game, make_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.rules import CardGame, Deal, Decision, Fold
from tensorcfr.storage.archive import digest_of

BETS = ("33%", "50%", "120%", "a", "e", "2e", "3e200%", "2c", "7c", "pot", "66.6%")
RAISES = ("2x", "3x", "2.5x", "min", "50%", "a", "e", "1.7x2r", "5c", "50%1r", "pot", "2e150%")
LIMIT = 100 << 20


def sizes(dice: Random, pool: tuple[str, ...], most: int) -> Any:
    """Sizes for all, by player, or by street."""

    def some() -> str:
        return ",".join(dice.sample(pool, dice.randint(0, most)))

    by = dice.choice(((), ("oop", "ip"), ("flop", "turn", "river")))
    return {key: some() for key in by} if by else some()


def random_spot(seed: int) -> CardGame:
    """A spot of hold'em or Omaha with any options of its betting, and lines added and removed."""
    dice = Random(seed)
    game, ranges = dice.choice((("holdem", ("AA", "KK")), ("omaha", ("AAKK", "QQJJ"))))
    board = dice.choice(("Td9d6h", "Td9d6hQc", "Td9d6hQc2s"))
    options: dict[str, Any] = {
        **{"game": game, "ranges": ranges, "board": board, "pot": dice.randint(1, 40)},
        **{"stacks": dice.randint(1, {6: 25, 8: 60, 10: 300}[len(board)])},
        **{"chip": dice.choice((1, 1, 0.5, 0.25)), "merging": dice.choice((0, 0.1, 0.3, 1))},
        **{"bets": sizes(dice, BETS, 3), "raises": sizes(dice, RAISES, 2)},
        **{"add_allin": dice.choice((0, 1.5, 10)), "force_allin": dice.choice((0, 0.15, 2))},
    }
    if dice.random() < 0.5:
        options["donk"] = {street: sizes_of_donk(dice) for street in ("turn", "river")}
    rules = make_spot(**options)
    if dice.random() < 0.5:
        lines = [random_line(rules, dice) for _ in range(2)]
        options["remove"] = [" ".join(line) for line in lines if len(line) > 1]
    line = random_line(rules, dice)[:-1]
    options["add"] = [
        " ".join([*line, f"{word}{dice.randint(1, 80)}"]) for word in ("bet", "raise")
    ]
    for left_out in ((), ("add",), ("add", "remove")):
        given = {key: value for key, value in options.items() if key not in left_out}
        if not isinstance(tried(make_spot(**given)), str):
            return make_spot(**given)
    raise AssertionError


def sizes_of_donk(dice: Random) -> str:
    return ",".join(dice.sample(BETS, dice.randint(0, 2)))


def random_line(rules: CardGame, dice: Random) -> list[str]:
    """Actions from the start, cards left out."""
    state, line = rules.root(), list[str]()
    while len(line) < 5:
        node = rules.node(state)
        if isinstance(node, Deal):
            state = rules.next(state, None)
        elif isinstance(node, Decision):
            line.append(str(dice.choice(node.actions)))
            state = rules.next(state, line[-1])
        else:
            break
    return line


def tried(rules: CardGame) -> Any:
    """The counts, or the error."""
    try:
        return counted(rules)
    except ValueError as error:
        return str(error)


def assert_counted(rules: CardGame) -> None:
    table, deals, is_whole = count_betting(rules, "it")
    assert is_whole
    assert (table.tolist(), list(deals)) == counted(rules)


@pytest.mark.parametrize("seed", tiered(range(60), range(0, 60, 3)))
def test_random_spots_are_counted_right(seed: int) -> None:
    """Rows of numbers, many at a time, against the rules, state by state."""
    rules = random_spot(seed)
    assert rules.rows() is not None
    assert_counted(rules)


@pytest.mark.parametrize(
    "name",
    [
        "nolimit_poker(stacks=20, raises='50%,a', bets='50%,a', deals=(3, 1, 1))",
        "nolimit_poker(stacks=9, raises='min,2x', bets='1c,pot', deals=(3, 1))",
        "push_or_fold",
        "limit_holdem",
        "rhode_island",
        "short_deck(board='Td9d6h', ranges=('AA', 'KK'), pot=5, stacks=30, bets='50%,a')",
    ],
)
def test_other_games_are_counted_right(name: str) -> None:
    assert_counted(make_game(name))


@pytest.mark.parametrize("seed", range(12))
def test_random_games_of_cards_are_counted_right(seed: int) -> None:
    """In some of them lines differ in how often cards are dealt."""
    assert_counted(RandomCards(seed, rounds=2))


class ManyLines(CardGame):
    """Forty decisions of nine actions in either of two rounds, all with the same future."""

    def root(self) -> int:
        return 0

    def node(self, state: int) -> Any:
        if state in (40, 81):
            return Deal() if state == 40 else Fold((0.0, 0.0))
        return Decision(state % 2, None, tuple(range(9)))

    def next(self, state: int, action: Any) -> int:
        return state + 1


def test_more_lines_than_64_bits() -> None:
    assert_counted(ManyLines())
    assert count_betting(ManyLines(), "it").table[1, 1] == 9**80


def test_an_ordinary_flop_is_counted_without_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five bets and three raises; the nodes are those that version 0.15.0 counted."""
    options = {"board": "Td9d6h", "ranges": ("AA", "KK"), "pot": 10, "stacks": 1000}
    sizes = {"bets": "20%,40%,60%,80%,a", "raises": "2x,3x,4x"}
    rules = make_spot(**options, **sizes)
    monkeypatch.setattr(type(rules.betting), "actions", None)
    table = count_betting(rules, "it").table
    assert table[:, 0].tolist() == [11_091, 512_031, 9_603_691]
    assert table[2].tolist() == [9603691, 6337905, 1632893, 1632893, 4715965, 4715965, 0, 0]


class NoFolds(Holdem):
    """A spot with rules of its own."""

    def node(self, state: Any) -> Any:
        found = super().node(state)
        if not isinstance(found, Decision):
            return found
        return found._replace(actions=tuple(a for a in found.actions if a != "fold"))


def test_derived_rules_are_asked() -> None:
    river = {"board": "Td9d6hQc2s", "ranges": ("AA", "KK"), "pot": 10, "stacks": 50, "bets": "50%"}
    assert_counted(NoFolds(**river))
    assert count_betting(NoFolds(**river), "it").table[0, 0] == unfold(NoFolds(**river), "").n_nodes


# ------------------------------------------------------------------------------------- the limits

SMALL_CHIPS = {
    **{"board": "Td9d6h", "ranges": ("AA", "KK"), "pot": 2, "stacks": 10**6},
    **{"bets": "1c", "raises": "min"},
}
"""States without end: a raise by one chip, a million times."""
MANY_RAISES = {**SMALL_CHIPS, "raises": "min,2x,3x,7c", "stacks": 10**5}
NO_LIMIT = {"stacks": 1000, "raises": "min,2x,3x", "bets": "1c,pot", "deals": (3, 1, 1)}
ENDLESS = {
    "small chips": ("holdem", SMALL_CHIPS),
    "many raises": ("holdem", MANY_RAISES),
    "no limit": ("nolimit_poker", NO_LIMIT),
}


@pytest.mark.parametrize("cut", ["auto", False])
@pytest.mark.parametrize("name", ENDLESS)
def test_games_of_too_much_betting_are_refused(
    name: str, cut: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is unfolded."""
    game, options = ENDLESS[name]
    for module in ("cards.card_compiler", "sizes.counted"):
        monkeypatch.setattr(f"tensorcfr.compilers.{module}.unfold", None)
    problem = r"lines of more than 1,000 actions|\(more than [\d,]+ public nodes\) needs at least"
    with pytest.raises((GameError, MemoryLimitError), match=problem):
        compile_game(game, **options, cut=cut, memory_limit=LIMIT)


@pytest.mark.parametrize("name", ["many raises", "no limit"])
def test_a_size_that_cannot_be_counted_is_told_in_part(name: str) -> None:
    game, options = ENDLESS[name]
    size = game_size(game, **options, seconds=0.05, memory_limit=LIMIT)
    assert not size.is_exact
    assert not size.is_whole
    assert "too large to count" in str(size)
    assert re.search(r"more than [\d,.]+.* nodes in the public tree", str(size))
    assert size.interval[1] == size.infosets_interval[1] == float("inf")


def test_a_size_without_memory_is_told_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BYTES_OF_STATE", LIMIT)
    river = {**SMALL_CHIPS, "board": "Td9d6hQc2s", "stacks": 20}
    assert not game_size("holdem", **river, memory_limit=LIMIT - 1).is_whole
    assert game_size("holdem", **river).is_whole


def test_a_file_that_names_too_much_betting_is_refused(tmp_path: Path) -> None:
    small = {**SMALL_CHIPS, "board": "Td9d6hQc", "stacks": 2}
    path = save_game(compile_game("holdem", **small, cut=True), tmp_path / "game.npz")
    with np.load(path) as file:
        arrays = dict(file)
    for game, options in ENDLESS.values():
        said = json.loads(arrays["game/cut/text"].tobytes())
        said["source"] = f"{game}({', '.join(f'{k}={v!r}' for k, v in options.items())})"
        arrays["game/cut/text"] = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
        arrays.pop("digest")
        arrays["digest"] = digest_of(arrays)
        forged = io.BytesIO()
        np.savez(forged, **arrays)
        forged.seek(0)
        with pytest.raises(ValueError, match=r"lines of more than|public nodes\) needs") as refused:
            load_game(forged, memory_limit=LIMIT)
        assert game == "holdem" or isinstance(refused.value, FileSizeError)


@pytest.mark.parametrize("seed", range(60))
def test_boards_that_leave_a_hand(seed: int) -> None:
    """Counted in closed form, except for boards that share a card with all hands."""
    rng = np.random.default_rng(seed)
    cards, width, deals = int(rng.integers(6, 11)), int(rng.integers(1, 4)), ((1,), (2, 1), (1, 1))
    every = np.array(list(combinations(range(cards), width)))
    hands = [every[rng.permutation(len(every))[: rng.integers(1, 6)]] for _ in range(2)]
    rules: Any = SimpleNamespace(cards=range(cards), free=np.arange(cards), boards=None)
    rules.hands = hands
    dealt = deals[seed % 3]
    for player in range(2):
        pairs = sum(
            not set(board) & set(hand)
            and any(not (set(board) | set(hand)) & set(other) for other in hands[1 - player])
            for board in combinations(range(cards), sum(dealt))
            for hand in hands[player]
        )
        orders = factorial(sum(dealt)) // prod(map(factorial, dealt))
        assert counting._possible(rules, dealt, player) == orders * pairs


WIDE = "22+,A2s+,K2s+,Q4s+,J6s+,T6s+,A2o+,K8o+,Q9o+,J9o+,T9o"
FOLDED = "22-77,A9s-A2s,K9s-K2s,Q8s-Q2s,A9o-A2o,K9o-K2o,Q9o-Q2o,72o"


@pytest.mark.parametrize("players", [2, 4])
def test_folded_players_are_told_and_limited(players: int) -> None:
    spot: dict[str, Any] = {"board": "Td9d6hQc2s", "ranges": (WIDE, WIDE), "pot": 55, "stacks": 100}
    folded = [FOLDED] * players
    for work in (compile_game, game_size):
        with pytest.raises(MemoryLimitError, match="folded: deals and sets of cards needs at"):
            work("holdem", **spot, folded=folded, memory_limit=6 << 20)
    told = game_size("holdem", **spot, folded=folded).bytes_compiling
    assert told > 8 << 20 > game_size("holdem", **spot).bytes_compiling
