"""The built-in games: how many histories, infosets and sequences they have, and their registry.

Counts are those of OpenSpiel 2.0.2 games, walked once (``kuhn(cards=n)``: of the game's rules
written down on their own, ``histories = 1 + n + 9 n (n - 1)``).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from tensorcfr import (
    GAMES,
    Chance,
    Decision,
    Game,
    GameError,
    Policy,
    Terminal,
    compile_game,
    solve,
)
from tensorcfr._util.specs import parse_spec
from tensorcfr.games import make_game
from tensorcfr.games.leduc import LeducPoker
from tensorcfr.model.arrays import CHANCE


class Counts(NamedTuple):
    histories: int
    chance: int
    decisions: list[int]
    terminals: int
    infosets: list[int]
    sequences: list[int]


COUNTS = {
    "kuhn": Counts(58, 4, [12, 12], 30, [6, 6], [13, 13]),
    "kuhn(players=3)": Counts(617, 17, [96] * 3, 312, [16] * 3, [33] * 3),
    "kuhn(players=4)": Counts(7886, 86, [960] * 4, 3960, [40] * 4, [81] * 4),
    "kuhn(cards=4)": Counts(113, 5, [24, 24], 60, [8, 8], [17, 17]),
    "kuhn(cards=5)": Counts(186, 6, [40, 40], 100, [10, 10], [21, 21]),
    "kuhn(cards=10)": Counts(821, 11, [180, 180], 450, [20, 20], [41, 41]),
    "leduc": Counts(9457, 157, [1890, 1890], 5520, [468, 468], [1093, 1093]),
    "liars_dice(faces=2)": Counts(127, 3, [32, 32], 60, [16, 16], [31, 31]),
    "liars_dice(faces=3)": Counts(1147, 4, [288, 288], 567, [96, 96], [190, 190]),
    "liars_dice(faces=4)": Counts(8181, 5, [2048, 2048], 4080, [512, 512], [1021, 1021]),
    "liars_dice(faces=5)": Counts(51181, 6, [12800] * 2, 25575, [2560] * 2, [5116] * 2),
    "liars_dice": Counts(294883, 7, [73728] * 2, 147420, [12288] * 2, [24571] * 2),
    "goofspiel(cards=3)": Counts(67, 0, [10, 21], 36, [8, 8], [18, 18]),
    "goofspiel(cards=4)": Counts(1077, 0, [161, 340], 576, [81, 81], [175, 175]),
    "goofspiel(cards=5)": Counts(26931, 0, [4026, 8505], 14400, [1062] * 2, [2284] * 2),
    "matching_pennies": Counts(7, 0, [1, 2], 4, [1, 1], [3, 3]),
    "matching_pennies_3p": Counts(15, 0, [1, 2, 4], 8, [1, 1, 1], [3, 3, 3]),
    "rock_paper_scissors": Counts(13, 0, [1, 3], 9, [1, 1], [4, 4]),
}


@pytest.mark.parametrize("spec", COUNTS)
def test_counts(spec: str) -> None:
    game = compile_game(spec)
    deciding = game.tree.player[game.tree.player >= 0]
    found = Counts(
        histories=game.n_histories,
        chance=int(np.count_nonzero(game.tree.player == CHANCE)),
        decisions=np.bincount(deciding, minlength=game.n_players).tolist(),
        terminals=len(game.tree.terminal),
        infosets=np.diff(game.form.player_infosets).tolist(),
        sequences=np.diff(game.form.player_sequences).tolist(),
    )
    assert found == COUNTS[spec]
    assert game.name == spec
    assert game.zero_sum == (spec != "matching_pennies_3p")


@pytest.mark.slow
def test_leduc_for_three() -> None:
    game = compile_game("leduc(players=3)")
    assert game.n_histories == 1_831_601
    assert np.diff(game.form.player_infosets).tolist() == [8600] * 3
    assert np.diff(game.form.player_sequences).tolist() == [19689] * 3


def test_bluff_is_the_tutorials_game() -> None:
    """Sixes are wild and cannot be bid; two dice against one make fifteen bids."""
    rules = make_game("bluff(dice=(2, 1))")
    opening = rules.node(rules.root())
    assert opening.actions == tuple(f"{n}x{face}" for n in (1, 2, 3) for face in range(1, 6))
    # Two dice have 21 unordered rolls: 6 doubles at 1/36, 15 others at 2/36.
    assert rules.prior.shape == (21, 6)  # type: ignore[union-attr]
    np.testing.assert_allclose(
        sorted(rules.prior.sum(axis=1)),  # type: ignore[union-attr]
        [1 / 36] * 6 + [2 / 36] * 15,
    )


def test_a_wild_die_shows_every_face() -> None:
    rules = make_game("liars_dice(faces=3)")
    matrix = rules.matrix((0, rules.bids.index((2, 1))))  # type: ignore[union-attr]
    # Two ones: true for hands 1 and 3 (wild) on both sides, and only for those.
    np.testing.assert_array_equal(matrix[0], [[1, -1, 1], [-1, -1, -1], [1, -1, 1]])
    plain = make_game("liars_dice(faces=3, wild=False)")
    matrix = plain.matrix((1, plain.bids.index((2, 1))))  # type: ignore[union-attr]
    np.testing.assert_array_equal(matrix[1], [[1, -1, -1], [-1, -1, -1], [-1, -1, -1]])


class ReferenceLiarsDice(Game):
    """Liar's dice for several players with one die each, written down once more."""

    def __init__(self, players: int, faces: int, *, bid_wild: bool) -> None:
        self.n_players, self.faces = players, faces
        sides = range(1, faces + 1 if bid_wild else faces)
        self.bids = [f"{n}x{side}" for n in range(1, players + 1) for side in sides]

    def root(self) -> Any:
        return (), ()

    def next(self, state: Any, action: Any) -> Any:
        dice, said = state
        if len(dice) < self.n_players:
            return (*dice, action), said
        return dice, (*said, action)

    def node(self, state: Any) -> Any:
        dice, said = state
        if len(dice) < self.n_players:
            return Chance(dict.fromkeys(range(1, self.faces + 1), 1 / self.faces))
        player = len(said) % self.n_players
        if not said or said[-1] != "liar":
            bids = self.bids[self.bids.index(said[-1]) + 1 :] if said else self.bids
            label = " ".join([f"{player}:{dice[player]}", *said])
            return Decision(player, label, (*bids, "liar") if said else tuple(bids))
        count, side = map(int, said[-2].split("x"))
        caller = (len(said) - 1) % self.n_players
        bidder = (caller - 1) % self.n_players
        true = sum(die in (side, self.faces) for die in dice) >= count
        utilities = [0.0] * self.n_players
        utilities[bidder if true else caller] = 1.0
        utilities[caller if true else bidder] = -1.0
        return Terminal(tuple(utilities))


@pytest.mark.parametrize(
    ("spec", "players", "faces", "bid_wild"),
    [
        ("bluff(faces=3)", 2, 3, False),
        ("bluff(players=3, faces=3)", 3, 3, False),
        pytest.param("bluff(players=4, faces=3)", 4, 3, False, marks=pytest.mark.full),
        pytest.param("liars_dice(dice=(1, 1, 1))", 3, 2, True, marks=pytest.mark.full),
        pytest.param("liars_dice(players=5, faces=2)", 5, 2, True, marks=pytest.mark.full),
    ],
)
def test_liars_dice_for_more_players_is_its_rules(
    spec: str, players: int, faces: int, bid_wild: bool
) -> None:
    parameters = {} if "faces" in spec else {"faces": faces}
    game = compile_game(spec, **parameters)
    other = compile_game(ReferenceLiarsDice(players, faces, bid_wild=bid_wild))
    for field in ("parent", "first_child", "player", "terminal"):
        np.testing.assert_array_equal(getattr(game.tree, field), getattr(other.tree, field))
    np.testing.assert_allclose(game.tree.probability, other.tree.probability, rtol=1e-14)
    np.testing.assert_array_equal(game.tree.utility, other.tree.utility)
    acts = game.tree.player >= 0
    pairs = set(zip(game.tree.infoset[acts], other.tree.infoset[acts], strict=True))
    assert len(pairs) == game.n_infosets == other.n_infosets


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("bluff(dice=(1, 2, 1), players=2)", "each of 2 players, not (1, 2, 1)"),
        ("liars_dice(dice=[])", "each of 2 to 10 players, not ()"),
        ("kuhn(players=11)", "players must be"),
        ("kuhn(players=4, cards=3)", "cards must be at least players = 4"),
        ("leduc(players=1)", "players must be"),
        ("leduc(players=4, ranks=2)", "too few for 4 players and a board card"),
    ],
)
def test_numbers_of_players_that_cannot_be(spec: str, wanted: str) -> None:
    with pytest.raises(GameError, match=re.escape(wanted)):
        make_game(spec)


def test_leduc_showdowns() -> None:
    """A pair with the board beats a higher card; equal ranks share the pot."""
    rules = make_game("leduc")
    cards = {card: index for index, card in enumerate(rules.cards)}  # type: ignore[union-attr]
    matrix = rules.matrix((cards["Js"], (1, 1), frozenset()))  # type: ignore[union-attr]
    assert matrix[0, cards["Jh"], cards["Ks"]] == 1
    assert matrix[0, cards["Qs"], cards["Ks"]] == -1
    assert matrix[0, cards["Ks"], cards["Kh"]] == 0
    np.testing.assert_array_equal(matrix[0], -matrix[1])


def test_every_game_says_what_it_is() -> None:
    for name, entry in GAMES.items():
        assert entry.description, name
        assert "Source" in (entry.make.__doc__ or "") or name in (
            "bluff",
            "limit_poker",
            "matrix",
            "nolimit_poker",
        ), name


def test_matrix_from_the_command_line() -> None:
    game = compile_game("matrix(payoffs=[[1, -1], [-1, 1]])")
    assert game.n_histories == 7


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("leduc", ("leduc", {})),
        ("leduc()", ("leduc", {})),
        ("leduc(ranks=4, bets=(1, 2))", ("leduc", {"ranks": 4, "bets": (1, 2)})),
        (" cfr+ (delay=2) ", ("cfr+", {"delay": 2})),
    ],
)
def test_specs(spec: str, parsed: object) -> None:
    assert parse_spec(spec) == parsed


@pytest.mark.parametrize(
    "spec",
    [
        *("leduc(4)", "leduc(ranks=", "leduc(ranks=x)", "a(b=1)(c=2)", "kuhn(cards=2, cards=3)"),
        *(f"leduc(ranks={text})" for text in ("[" * 300, "-" * 5000 + "1", "1+" * 5000 + "1")),
        *("leduc(ranks=" + "[" * 90_000, "leduc(ranks=" + "-" * 90_000 + "1)"),
    ],
    ids=range(10),
)
def test_unreadable_specs(spec: str) -> None:
    with pytest.raises(GameError, match="cannot read the game"):
        make_game(spec)


def test_keywords_win_over_the_spec() -> None:
    game = compile_game("kuhn(cards=4)", cards=6)
    assert game.n_infosets == 24
    assert game.name == "kuhn(cards=6)"


class OldLeduc(LeducPoker):
    """Leduc as it was labelled before: a blank follows the board card."""

    def node(self, state: Any) -> Any:
        node = super().node(state)
        blank = " " if state.label.endswith(" ") else ""
        return node._replace(infoset=node.infoset + blank) if isinstance(node, Decision) else node


def test_labels_of_leduc_do_not_end_in_a_blank() -> None:
    new, old = compile_game("leduc"), compile_game(OldLeduc())
    assert not any(label.endswith(" ") for label in new.infoset_labels)
    assert [label.rstrip(" ") for label in old.infoset_labels] == list(new.infoset_labels)
    assert "Jh cc/Js " in old.infoset_labels
    for game in (new, old):
        policy = Policy.uniform(game)
        assert policy["Jh cc/Js"] == policy["Jh cc/Js "] == {"call": 0.5, "raise": 0.5}
        assert game.infoset_index["Jh cc/Js"] == game.infoset_index["Jh cc/Js "]
        assert "Jh  cc/Js" not in game.infoset_index
    warm = solve(new, iters=2, warm_start=solve(old, iters=2))
    assert warm.nash_conv == solve(new, iters=2, warm_start=solve(new, iters=2)).nash_conv
