"""Boards and hands that are alike are solved once, to the values of the unreduced game."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import EveryRound, RandomSuits
from support.layouts import step_alike
from support.products import pay
from support.tiers import tiered
from support.variants import VARIANTS
from tensorcfr import GameError, Solution, Solver, compile_game, solve
from tensorcfr.analysis import hand_table
from tensorcfr.compilers.sizes import counted
from tensorcfr.compilers.sizes.counted import size_of_cards
from tensorcfr.kernels import chunk_passes as kernels
from tensorcfr.model.chunked_form import ROW
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.rules import Deal, Fold

DECKS: dict[str, dict[str, Any]] = {
    "one card": {"ranks": 3, "suits": 2, "width": 1, "rounds": 2},
    "one card, three suits": {"ranks": 2, "suits": 3, "width": 1, "rounds": 2, "alone": True},
    "two cards, river": {"ranks": 3, "suits": 3, "width": 2, "rounds": 0, "public": (0,)},
    "two cards, turn": {"ranks": 3, "suits": 3, "width": 2, "rounds": 1, "public": (0,)},
    "two cards, flop": {"ranks": 2, "suits": 4, "width": 2, "rounds": 2, "public": (1,)},
    "a board of two suits": {"ranks": 3, "suits": 3, "width": 2, "rounds": 1, "public": (0, 1)},
    "three at once": {"ranks": 3, "suits": 3, "width": 1, "rounds": 1, "deals": (3,)},
    "two at once": {"ranks": 2, "suits": 4, "width": 2, "rounds": 2, "deals": (2, 1)},
}


EVEN = range(0, 60, 2)
"""Seeds of games in which ties pay something: an exact tie of actions is decided by rounding."""


@cache
def games(deck: str, seeds: range) -> list[ChunkedGame]:
    """Random games of a deck in which both players act."""
    found: list[ChunkedGame] = []
    for seed in seeds:
        if len(found) == 2:
            break
        game = compile_game(RandomSuits(seed, **DECKS[deck]))
        acts = {int(player) for player in game.nodes.betting.player if player >= 0}
        if acts == {0, 1} and game.nodes.betting.rounds == DECKS[deck]["rounds"]:
            found.append(game)
    return found


@pytest.mark.parametrize(
    "deck", tiered(DECKS, ["two cards, turn", "a board of two suits", "three at once"])
)
def test_the_reduced_game_equals_the_whole(deck: str) -> None:
    """With a floor, which keeps every reach above 0; see ``test_card_games.py``."""
    found = games(deck, EVEN)
    assert found
    for game in found:
        whole = compile_game(game.nodes.rules, symmetry=False)
        assert game.n_infosets == whole.n_infosets
        assert game.chunks.n_numbers < 0.8 * whole.chunks.n_numbers
        algorithm = VARIANTS["cfr+"][0](floor=0.01)
        # Differences of sums are exact to the size of the sums, not to their own.
        step_alike(Solver(game, algorithm), Solver(whole, algorithm), (1, 1, 4), strategies=1e-9)


TWICE: dict[str, dict[str, Any]] = {
    "one card, three suits": {"ranks": 2, "suits": 3, "width": 1},
    "one card, suits apart to player 1": {"ranks": 2, "suits": 3, "width": 1, "apart": (1,)},
    "two cards": {"ranks": 3, "suits": 3, "width": 2, "public": (0,)},
    "two cards, four suits": {"ranks": 2, "suits": 4, "width": 2},
    "hands without the board's rank": {
        **{"ranks": 3, "suits": 3, "width": 2},
        **{"public": (0,), "least": (1, 1)},
    },
    "two at once, then one": {"ranks": 3, "suits": 3, "width": 1, "deals": (2, 1)},
    "one, then two at once": {"ranks": 2, "suits": 4, "width": 1, "deals": (1, 2)},
    "two at once twice": {"ranks": 2, "suits": 4, "width": 2, "deals": (2, 2)},
}
"""Decks in which cards are dealt twice, each time such that suits may be alike."""


def every_line(rules: EveryRound) -> list[str]:
    """The lines of all decisions on all boards, from the rules."""
    free = [card for k, card in enumerate(rules.cards) if k not in rules.board]
    boards, found = [((), "")], [""]
    for count in rules.deals[: rules.rounds]:
        boards = [
            ((*before, *cards), f"{line}pass pass {''.join(cards)} ")
            for before, line in boards
            for cards in combinations([card for card in free if card not in before], count)
        ]
        found += [line for _, line in boards]
    return [line + step for line in found for step in ("", "pass")]


@pytest.mark.parametrize(
    "deck",
    tiered(
        TWICE,
        [
            "one card, three suits",
            "one card, suits apart to player 1",
            "two cards",
            "hands without the board's rank",
            "two at once, then one",
        ],
    ),
)
def test_boards_that_are_merged_twice(deck: str) -> None:
    """Every hand on every board plays as in the game that keeps suits apart."""
    rules = EveryRound(3, rounds=2, **TWICE[deck])
    game, whole = compile_game(rules), compile_game(rules, symmetry=False)
    assert game.chunks.n_chunks < whole.chunks.n_chunks
    one, other = (solve(g, VARIANTS["cfr+"][0](floor=0.01), iters=6) for g in (game, whole))
    np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12)
    assert one.exploitability == pytest.approx(other.exploitability, abs=1e-12)
    for line in np.random.default_rng(7).permutation(every_line(rules))[:60].tolist():
        a, b = hand_table(one, line), hand_table(other, line)
        assert a.hands == b.hands
        for name in ("opponent_weight", "weight", "strategy", "values"):
            np.testing.assert_allclose(
                getattr(a, name), getattr(b, name), rtol=0, atol=1e-12, err_msg=f"{name} {line!r}"
            )


class TwoWays(EveryRound):
    """A fold leads to the next card, too."""

    def node(self, state: tuple[str, ...]) -> Any:
        node = super().node(state)
        return Deal() if isinstance(node, Fold) and state.count("|") < self.rounds else node


def test_lines_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards that stand for several pay each group of lines its own amounts."""
    rules = TwoWays(3, ranks=3, suits=3, width=1, rounds=1)
    whole = compile_game(rules)
    monkeypatch.setattr(counted, "second_level_cache", lambda: 1024)
    several = compile_game(rules)
    assert several.chunks.n_chunks == 2 * whole.chunks.n_chunks == 2 * 3
    one, other = (solve(game, "cfr+", iters=5) for game in (several, whole))
    np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12)
    assert one.exploitability == pytest.approx(other.exploitability, abs=1e-12)


def test_locks_of_any_two_cards(interpreted: None) -> None:
    """A line with two cards left open locks every board of two cards."""
    rules = EveryRound(3, rounds=2, **TWICE["one card, three suits"])
    solution = solve(
        compile_game(rules), "cfr+", iters=2, locks={"* pass pass * pass pass *": {"pass": 0.75}}
    )
    for line in every_line(rules):
        if line.count(".") == 2 and line.endswith("."):
            table = hand_table(solution, line)
            np.testing.assert_allclose(table.strategy[:, 0], 0.75, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="'\\*' names any card, but one line is needed here"):
        hand_table(solution, "pass pass *")


def test_files_know_whether_suits_were_told_apart(tmp_path: Path, interpreted: None) -> None:
    spot = SPOT | {"board": "QsJh2s8s3s", "ranges": ("AA", "KK"), "bets": ""}
    for symmetry in (False, True):
        game = compile_game("holdem", **spot, symmetry=symmetry)
        assert game.merges_hands == symmetry
        solve(game, "cfr+", iters=1).save(tmp_path / "spot.npz", force=True)
        assert Solution.load(tmp_path / "spot.npz").game.merges_hands == symmetry


@pytest.mark.parametrize("deck", DECKS)
def test_numbers_are_counted_before(deck: str) -> None:
    """The size says what the solver's arrays hold, or a little more."""
    for game in games(deck, EVEN):
        size = size_of_cards(game.nodes.rules, game.name).chunks
        chunks = game.chunks
        deals = sum(game.nodes.board_begin[player][0][-1] for player in range(2)) + 2
        used = chunks.trunk.n_sequences + int(np.diff(chunks.number_offset).sum())
        # Chunks end with a whole row.
        least = used - deals - ROW * chunks.n_chunks
        assert least <= size.numbers <= 1.2 * (used - deals)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_the_definition_of_the_payoffs(precision: type) -> None:
    """Products of the reduced forms equal those that the verbs work out hand by hand."""
    rng = np.random.default_rng(5)
    bound = 1e-13 if precision is np.float64 else 1e-5
    deck: dict[str, Any] = {
        "ranks": 3,
        "suits": 3,
        "width": 2,
        "rounds": 2,
        "public": (0,),
        "least": (0, 1),
    }
    apart = compile_game(EveryRound(3, **deck))
    for game in [*games("two cards, flop", EVEN), apart]:
        chunks = game.chunks
        forms = [chunks.trunk]
        forms += [kernels.shape_form(chunks.shapes, k) for k in range(min(chunks.n_chunks, 6))]
        for form in forms:
            x = rng.random(form.n_sequences)
            for player in range(2):
                own = slice(*form.player_sequences[player : player + 2])
                g = np.full(form.n_sequences, np.nan, dtype=precision)
                pay(form, player, x.astype(precision), g)
                expected = form.operator[0].product(form, player, x)
                np.testing.assert_allclose(g[own], expected, rtol=0, atol=bound)


SPOT: dict[str, Any] = {
    "board": "Td9d6hQd",
    "ranges": ("AA,KK,AJs,76s", "QJs,JTs,88,AQs"),
    "pot": 100,
    "stacks": 300,
    "bets": {"turn": "60%", "river": "50%"},
    "raises": "",
}


@pytest.mark.full
def test_a_turn_spot() -> None:
    """Clubs and spades are alike, hearts are not: values, and every hand at every kind of line."""
    game, whole = (compile_game("holdem", **SPOT, symmetry=s) for s in (True, False))
    assert game.chunks.n_chunks < whole.chunks.n_chunks
    one, other = (solve(g, "cfr+", iters=40, precision="float64") for g in (game, whole))
    assert one.value[0] == pytest.approx(other.value[0], abs=1e-9)
    assert one.exploitability == pytest.approx(other.exploitability, abs=1e-9)
    for line in ("", "check bet60", "check bet60 call 7s", "check bet60 call 7c", "check check Ah"):
        a, b = hand_table(one, line), hand_table(other, line)
        assert a.hands == b.hands
        np.testing.assert_allclose(a.opponent_weight, b.opponent_weight, rtol=0, atol=1e-9)
        np.testing.assert_allclose(a.weight, b.weight, rtol=0, atol=1e-9)
        here = a.opponent_weight > 1e-3
        np.testing.assert_allclose(a.strategy[here], b.strategy[here], rtol=0, atol=1e-7)
        np.testing.assert_allclose(a.values[here], b.values[here], rtol=0, atol=1e-7)


@pytest.mark.full
@pytest.mark.compiled
def test_a_flop_spot() -> None:
    """Of 49 x 48 boards 23 x 35 + 13 x 48 are solved; with a floor, see ``test_card_games.py``."""
    spot = SPOT | {"board": "Td9d6h", "stacks": 150, "bets": "50%"}
    one, other = (
        Solver(
            compile_game("holdem", **spot, symmetry=s),  # type: ignore[arg-type]
            VARIANTS["cfr+"][0](floor=0.01),
            precision="float64",
        )
        for s in (True, False)
    )
    assert (one.game.chunks.n_chunks, other.game.chunks.n_chunks) == (1429, 49 * 48)
    one.iterate(10)
    other.iterate(10)
    found, expected = one.evaluate(), other.evaluate()
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.best_responses, expected.best_responses, rtol=0, atol=1e-11)


class Wrong(RandomSuits):
    """Suits that are not alike, or permutations that are none."""

    def __init__(
        self,
        found: np.ndarray,
        strong: int = 0,
        suit: int = 1,
        public: tuple[int, ...] = (0,),
        favoured: int | None = None,
    ) -> None:
        super().__init__(0, ranks=3, suits=3, width=2, rounds=0, public=public)
        self.found, self.strong, self.suit = found, strong, suit
        self.weights_vary = favoured is not None
        self.favoured = favoured

    def symmetries(self) -> np.ndarray:
        return self.found

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        return super().strength(board, hands) * 10 + self.strong * (hands % 3 == self.suit).sum(
            axis=1
        )

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        """More for hands with a card, if there is one to be favoured."""
        if self.favoured is None:
            return self.weights[player]
        return self.weights[player] * (1.0 + (self.hands[player] == self.favoured).any(axis=1))


TURNED = np.array([[0, 2, 1, 3, 5, 4, 6, 8, 7]])
ALL_SUITS = np.array([[3 * r + s for r in range(3) for s in o] for o in permutations(range(3))])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Wrong(np.zeros((1, 9), dtype=np.int64)), r"symmetries\(\)\[0\] is not a permutation"),
        (Wrong(np.arange(8)[None]), r"must be int64 \(permutations, 9\)"),
        (Wrong(TURNED, strong=1), "changes strengths: b. to c."),
        (Wrong(ALL_SUITS, strong=1, suit=0, public=()), "changes strengths: a. to b., b. to a."),
        (Wrong(ALL_SUITS[:3], public=()), "must contain the products"),
        (Wrong(TURNED, favoured=4), "changes weights: b. to c."),
    ],
)
def test_wrong_permutations(rules: Wrong, message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game(rules)


def test_locks_that_tell_suits_apart_are_refused() -> None:
    game = games("two cards, turn", EVEN)[0]
    label = next(
        label
        for rows in game.rows(0)
        for label, actions in zip(rows.labels, rows.actions, strict=True)
        if len(actions) > 1 and label.startswith("b.d.")
    )
    with pytest.raises(ValueError, match="symmetry=False"):
        solve(game, iters=1, locks={label: {game.locate(label).actions[0]: 1.0}})
