"""Games of OpenSpiel: their counts, what is refused, and the built-in games against them."""

from __future__ import annotations

import sys
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import pytest

from support.imported_games import COUNTS, GOOFSPIEL, turn_based
from tensorcfr import (
    Chance,
    CompiledGame,
    Decision,
    GameError,
    MemoryLimitError,
    Payoff,
    Terminal,
    compile_game,
)
from tensorcfr.errors import ImperfectRecallError, MissingExtraError
from tensorcfr.formats.openspiel import CHANCE_PLAYER, TERMINAL_PLAYER, Action, OpenSpielGame
from tensorcfr.games import make_game
from tensorcfr.games.goofspiel import Goofspiel
from tensorcfr.games.leduc import LeducPoker
from tensorcfr.model.arrays import CHANCE

pyspiel: Any = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.openspiel

LARGE_COUNTS = [
    (
        turn_based(GOOFSPIEL.format(5, "win_loss")),
        *(26931, 0, [4026, 8505], [1062, 1062], [2284, 2284]),
    ),
    ("tiny_bridge_2p", 107129, 29, [26880, 26880], [1792, 1792], [3557, 3557]),
    ("liars_dice", 294883, 7, [73728, 73728], [12288, 12288], [24571, 24571]),
    ("leduc_poker(players=3)", 1831601, 10481, [259056] * 3, [8600] * 3, [19689] * 3),
]
GENERAL_SUM = {turn_based("matching_pennies_3p()"), "tiny_bridge_2p"}


@pytest.mark.parametrize(
    ("text", "histories", "chance", "decisions", "infosets", "sequences"),
    [
        *(pytest.param(*row, id=row[0]) for row in COUNTS),
        *(pytest.param(*row, id=row[0], marks=pytest.mark.slow) for row in LARGE_COUNTS),
    ],
)
def test_counts(
    text: str,
    histories: int,
    chance: int,
    decisions: list[int],
    infosets: list[int],
    sequences: list[int],
) -> None:
    game = compile_game(f"openspiel:{text}")
    assert game.n_histories == histories
    assert np.count_nonzero(game.tree.player == CHANCE) == chance
    players = range(game.n_players)
    assert [np.count_nonzero(game.tree.player == player) for player in players] == decisions
    assert np.diff(game.form.player_infosets).tolist() == infosets
    assert np.diff(game.form.player_sequences).tolist() == sequences
    assert game.zero_sum == (text not in GENERAL_SUM)


def assert_same_tree(ours: CompiledGame, theirs: CompiledGame) -> None:
    """Both trees have the same nodes in the same order, and infosets that correspond."""
    for field in ("parent", "first_child", "player", "terminal"):
        np.testing.assert_array_equal(getattr(ours.tree, field), getattr(theirs.tree, field))
    np.testing.assert_allclose(ours.tree.probability, theirs.tree.probability, rtol=1e-14)
    np.testing.assert_allclose(ours.tree.utility, theirs.tree.utility, rtol=0, atol=1e-12)
    acts = ours.tree.player >= 0
    pairs = {
        *zip(ours.tree.infoset[acts].tolist(), theirs.tree.infoset[acts].tolist(), strict=True)
    }
    # A bijection: as many pairs as either side has infosets.
    assert len(pairs) == ours.n_infosets == theirs.n_infosets


BUILT_IN = [
    ("kuhn", "kuhn_poker"),
    ("kuhn(players=3)", "kuhn_poker(players=3)"),
    ("kuhn(players=4)", "kuhn_poker(players=4)"),
    ("leduc", "leduc_poker"),
    ("liars_dice(faces=2)", "liars_dice(dice_sides=2)"),
    ("liars_dice(faces=3)", "liars_dice(dice_sides=3)"),
    ("liars_dice(faces=4)", "liars_dice(dice_sides=4)"),
]
LARGE_BUILT_IN = [
    ("goofspiel(cards=5)", GOOFSPIEL.format(5, "win_loss")),
    ("liars_dice", "liars_dice"),
    ("leduc(players=3)", "leduc_poker(players=3)"),
    ("kuhn(players=5)", "kuhn_poker(players=5)"),
]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *(pytest.param(*row, id=row[0]) for row in BUILT_IN),
        *(pytest.param(*row, id=row[0], marks=pytest.mark.slow) for row in LARGE_BUILT_IN),
    ],
)
def test_built_in_game_is_openspiels_node_by_node(ours: str, theirs: str) -> None:
    assert_same_tree(compile_game(ours), compile_game(f"openspiel:{theirs}"))


CLASSICS = {
    "rock_paper_scissors": "rps",
    "biased_rock_paper_scissors": "brps",
    "matching_pennies": "mp",
    "prisoners_dilemma": "pd",
    "stag_hunt": "sh",
    "chicken": "cd",
    "battle_of_the_sexes": "bos",
    "shapleys_game": "shapleys_game",
}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [*((o, f"matrix_{t}") for o, t in CLASSICS.items()), ("matching_pennies_3p",) * 2],
)
def test_matrix_games_are_openspiels(ours: str, theirs: str) -> None:
    game, other = compile_game(ours), compile_game(f"openspiel:{theirs}")
    assert_same_tree(game, other)
    labels = [[label.lower() for label in actions] for actions in other.infoset_actions]
    assert list(map(list, game.infoset_actions)) == labels


@pytest.mark.parametrize(
    "parameters",
    [
        *(
            {"cards": 3, "prizes": prizes, "payoff": payoff, "imperfect_information": hidden}
            for prizes in ("descending", "ascending", "random")
            for payoff in ("win_loss", "point_difference", "total_points")
            for hidden in (True, False)
        ),
        {"cards": 2},
        {"cards": 2, "prizes": "random"},
        {"cards": 4},
        {"cards": 4, "prizes": "random", "payoff": "point_difference"},
        {"cards": 3, "players": 3},
        {"cards": 3, "players": 3, "payoff": "point_difference", "prizes": "ascending"},
    ],
    ids=str,
)
def test_goofspiel_is_openspiels(parameters: dict[str, Any]) -> None:
    game = Goofspiel(**parameters)
    theirs = (
        f"goofspiel(imp_info={game.imperfect_information},num_cards={game.cards},"
        f"players={game.n_players},points_order={game.prizes},returns_type={game.payoff})"
    )
    assert_same_tree(compile_game(game), compile_game(f"openspiel:{theirs}"))


def test_goofspiel_keeps_the_order_that_openspiel_forgets() -> None:
    """OpenSpiel's labels forget the order of open cards, so ours are finer; all else is the same,
    history by history."""
    ours = Goofspiel(cards=4, imperfect_information=False)
    theirs = OpenSpielGame("goofspiel(imp_info=False,num_cards=4,points_order=descending)")
    labels: dict[str, set[str]] = {}
    theirs_of: dict[str, str] = {}
    stack = [(ours.root(), theirs.root())]
    while stack:
        state, other = stack.pop()
        node, expected = ours.node(state), theirs.node(other)
        if isinstance(expected, Terminal):
            assert isinstance(node, Terminal)
            assert node.utilities == pytest.approx(expected.utilities, abs=1e-15)
            continue
        assert isinstance(node, Decision)
        assert isinstance(expected, Decision)
        assert node.player == expected.player
        assert [card - 1 for card in node.actions] == [bid.number for bid in expected.actions]
        assert theirs_of.setdefault(node.infoset, expected.infoset) == expected.infoset
        labels.setdefault(expected.infoset, set()).add(node.infoset)
        for card, bid in zip(node.actions, expected.actions, strict=True):
            stack.append((ours.next(state, card), theirs.next(other, bid)))
    assert max(map(len, labels.values())) > 1


@pytest.mark.parametrize("players", [3, pytest.param(4, marks=pytest.mark.full)])
def test_leduc_for_more_players_is_openspiels_deal_by_deal(players: int) -> None:
    """The betting tree of one deal and one board is compared whole; it is the same for all.

    The tree of four players has 349,388,741 histories: its size is counted from that of one deal.
    """
    rules = make_game(f"leduc(players={players})")
    assert isinstance(rules, LeducPoker)
    theirs = pyspiel.load_game(f"leduc_poker(players={players})")
    matrix, n_cards = lru_cache(maxsize=64)(rules.matrix), 2 * (players + 1)
    rng = np.random.default_rng(players)
    sizes = set()
    for _ in range(3):
        cards = rng.permutation(n_cards)[: players + 1].tolist()
        *deal, board = cards
        root = theirs.new_initial_state()
        for card in deal:
            root.apply_action(card)
        before, after = 0, 0
        stack = [(rules.root(), root)]
        while stack:
            state, other = stack.pop()
            before, after = before + (state.board is None), after + (state.board is not None)
            node = rules.node(state)
            if isinstance(node, Chance):
                assert other.is_chance_node()
                assert sorted(set(range(n_cards)) - set(deal)) == other.legal_actions()
                stack.append((rules.next(state, rules.cards[board]), other.child(board)))
            elif isinstance(node, Payoff):
                assert other.is_terminal()
                paid = node.coefficient * matrix(node.matrix)[(slice(None), *deal)]
                np.testing.assert_allclose(paid, other.returns(), rtol=0, atol=1e-12)
            else:
                assert node.player == other.current_player()
                assert len(node.actions) == len(other.legal_actions())
                for action, number in zip(node.actions, other.legal_actions(), strict=True):
                    stack.append((rules.next(state, action), other.child(number)))
        sizes.add(before + (n_cards - players) * after)
    deals = [prod(range(n_cards - k + 1, n_cards + 1)) for k in range(players + 1)]
    assert {sum(deals[:-1]) + deals[-1] * size for size in sizes} == {
        # The first is counted above in OpenSpiel; the second is what compile_game counts.
        {3: 1_831_601, 4: 349_388_741}[players]
    }


def test_labels_are_openspiels() -> None:
    game = compile_game("openspiel:liars_dice(dice_sides=2)")
    assert game.outcome_labels == ("Roll 1", "Roll 2")
    assert "2 1-1 2-1" in game.infoset_labels
    assert game.infoset_actions[game.infoset_index["2 1-1 2-1"]] == ("2-2", "Liar")
    last = game.history(game.n_histories - 1)
    assert last == ("Roll 2", "Roll 2", "1-1", "1-2", "2-1", "2-2", "Liar")


def test_a_game_object_and_its_string_compile_alike() -> None:
    loaded = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
    from_object, from_text = (compile_game(source) for source in (loaded, f"openspiel:{loaded}"))
    assert_same_tree(from_object, from_text)
    assert from_object.infoset_labels == from_text.infoset_labels


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kuhn_poker", "openspiel:kuhn_poker"),
        ("kuhn_poker(players=3)", "openspiel:kuhn_poker(players=3)"),
        ("matrix_mp", "openspiel:matrix_mp"),
    ],
)
def test_the_name_of_a_compiled_game_compiles_to_it(text: str, name: str) -> None:
    game = compile_game(pyspiel.load_game(text))
    assert game.name == name
    again = compile_game(game.name)
    assert_same_tree(game, again)
    assert (again.name, again.infoset_labels) == (name, game.infoset_labels)


def test_a_simultaneous_move_is_made_one_player_after_the_other() -> None:
    game = OpenSpielGame("matrix_pd")
    state = game.root()
    players = []
    while isinstance(node := game.node(state), Decision):
        players.append(node.player)
        state = game.next(state, node.actions[0])
    assert players == [0, 1]
    assert node == Terminal((5.0, 5.0))  # both cooperate: OpenSpiel's matrix_games.cc


def test_a_game_written_in_python() -> None:
    assert_same_tree(compile_game("kuhn"), compile_game("openspiel:python_kuhn_poker"))


def test_next_leaves_the_state_as_it_was() -> None:
    game = OpenSpielGame("kuhn_poker")
    state = game.root()
    before = str(state), state.history()
    child = game.next(state, Action("Deal:1", 1))
    assert (str(state), state.history()) == before
    assert child.history() == [1]
    assert game.advance(state, Action("Deal:1", 1)) is state
    assert str(state) == str(child)


def test_player_codes_are_openspiels() -> None:
    assert CHANCE_PLAYER == pyspiel.PlayerId.CHANCE
    assert TERMINAL_PLAYER == pyspiel.PlayerId.TERMINAL


class Blurred:
    """Kuhn poker whose strings collide: both players see "0" first or facing a bet, and every
    action and every card is called "it"."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def __str__(self) -> str:
        return "blurred"

    def new_initial_state(self) -> Blurred:
        return type(self)(self.wrapped.new_initial_state())

    def child(self, action: int) -> Blurred:
        return type(self)(self.wrapped.child(action))

    def information_state_string(self, player: int) -> str:
        text: str = self.wrapped.information_state_string(player)
        return text[0] if text[1:] in ("", "b") else text

    def action_to_string(self, player: int, action: int) -> str:
        return "it"


def test_a_string_that_two_players_share_makes_two_infosets() -> None:
    game = compile_game(OpenSpielGame(Blurred(pyspiel.load_game("kuhn_poker"))))
    assert_same_tree(game, compile_game("kuhn"))
    for card in "012":
        # Who is met first depends on the order of the walk; the suffix names the other one.
        names = {0: f"{card} (player 0)", 1: f"{card} (player 1)"}
        owners = {game.infoset_player[game.infoset_index[card]]}
        owners |= {p for p, name in names.items() if game.infoset_index.get(name) is not None}
        assert owners == {0, 1}
        assert {f"{card}p", f"{card}pb"} <= set(game.infoset_labels)  # no collision, no suffix


def test_a_made_up_label_that_is_taken_is_not_used_twice() -> None:
    class Worse(Blurred):
        def information_state_string(self, player: int) -> str:
            text = super().information_state_string(player)
            return f"{text[0]} (player 1)" if text.endswith("p") else text

    game = compile_game(OpenSpielGame(Worse(pyspiel.load_game("kuhn_poker"))))
    assert_same_tree(game, compile_game("kuhn"))
    assert len(set(game.infoset_labels)) == 12
    assert "0 (player 1) (player 1)" in game.infoset_labels


def test_phantom_tic_tac_toe_shows_both_players_an_empty_board() -> None:
    game = OpenSpielGame("phantom_ttt")
    first = game.node(game.root())
    assert isinstance(first, Decision)
    second = game.node(game.next(game.root(), first.actions[4]))
    assert isinstance(second, Decision)
    empty = "...\n...\n...\n"
    assert (first.player, first.infoset) == (0, empty)
    assert (second.player, second.infoset) == (1, f"{empty} (player 1)")


def test_names_that_occur_twice_get_the_number_of_the_action() -> None:
    game = compile_game(OpenSpielGame(Blurred(pyspiel.load_game("kuhn_poker"))))
    assert set(game.infoset_actions) == {("it 0", "it 1")}
    assert set(game.outcome_labels) == {"it 0", "it 1", "it 2"}


class Named(Blurred):
    """Kuhn poker with names of its own."""

    def information_state_string(self, player: int) -> str:
        text: str = self.wrapped.information_state_string(player)
        return text


def test_a_name_with_a_number_may_be_another_name() -> None:
    class Numbered(Named):
        def action_to_string(self, player: int, action: int) -> str:
            return "it 1" if action == 2 else "it"

    game = OpenSpielGame(Numbered(pyspiel.load_game("kuhn_poker")))
    deal = game.node(game.root())
    assert isinstance(deal, Chance)
    assert list(deal.outcomes) == ["it 0", "it 1", "it 1 2"]


def test_the_same_numbers_may_have_other_names() -> None:
    class Personal(Named):
        def action_to_string(self, player: int, action: int) -> str:
            return f"{player} does {action}"

    game = compile_game(OpenSpielGame(Personal(pyspiel.load_game("kuhn_poker"))))
    for player, actions in zip(game.infoset_player, game.infoset_actions, strict=True):
        assert actions == (f"{player} does 0", f"{player} does 1")


def test_histories_that_disagree_on_the_actions_are_refused() -> None:
    class Forbidding(Blurred):
        """A player who holds the lowest card may not bet, if the other one has the highest."""

        def legal_actions(self) -> list[int]:
            return [0] if self.wrapped.history()[:2] == [0, 2] else [0, 1]

    with pytest.raises(GameError, match=r"infoset '0' disagree on its actions.* at history \["):
        compile_game(OpenSpielGame(Forbidding(pyspiel.load_game("kuhn_poker"))))


def test_a_player_that_is_neither_seated_nor_chance_is_refused() -> None:
    game = OpenSpielGame("matrix_mp")
    joint = pyspiel.load_game("matrix_mp").new_initial_state()
    with pytest.raises(GameError, match=r"openspiel:matrix_mp: .* player -2 acts at history \[\]"):
        game.node(joint)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mfg_garnet", "mean-field game"),
        ("tarok", "only samples its chance outcomes"),
        ("2048", "no information state strings"),
        ("no_such_game", "OpenSpiel has no game 'no_such_game'; "),
        (
            "python_no_such_game",
            "OpenSpiel has no game 'python_no_such_game'; did you mean 'python_",
        ),
        ("kuhn_poker(cards=3)", "Unknown parameter 'cards'"),
        ("kuhn_poker(", "Missing closing bracket"),
        ("nfg_game", "cannot load 'nfg_game'"),
    ],
)
def test_what_cannot_be_walked_is_refused(text: str, why: str) -> None:
    with pytest.raises(GameError, match=why) as caught:
        compile_game(f"openspiel:{text}")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "player"),
    [("leduc_poker(action_mapping=True)", 0), ("liars_dice_ir(dice_sides=3)", 1)],
)
def test_imperfect_recall_is_refused(text: str, player: int) -> None:
    with pytest.raises(ImperfectRecallError, match=f"player {player} forgets") as caught:
        compile_game(f"openspiel:{text}")
    assert "at history [" in str(caught.value)


def test_what_leduc_with_action_mapping_forgets_is_named() -> None:
    # Folding is mapped to calling where there is nothing to call, and the string says "1" of both.
    with pytest.raises(ImperfectRecallError) as caught:
        compile_game("openspiel:leduc_poker(action_mapping=True)")
    message = str(caught.value)
    assert "[Round1: 1 2]" in message
    assert "'Fold'" in message
    assert "'Call'" in message


def test_a_game_too_big_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(MemoryLimitError, match="openspiel:tic_tac_toe"):
        compile_game("openspiel:tic_tac_toe", memory_limit=200_000)


@pytest.mark.parametrize("text", ["kuhn_poker", "python_kuhn_poker"])
def test_without_openspiel_the_error_says_what_installs_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tensorcfr\[openspiel\]'"):
        compile_game(f"openspiel:{text}")
