"""Policies in and out: every format gives back what it was given, and other libraries agree."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_games import games, public_tree_games
from tensorcfr import (
    CompiledGame,
    Policy,
    Solution,
    best_response,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.analysis import values
from tensorcfr.formats import (
    find_policy,
    from_openspiel,
    openspiel_bot,
    policy_table,
    policy_to_openspiel,
    policy_to_pyspiel,
    read_policy,
    save_policy,
    to_openspiel,
)
from tensorcfr.formats.policies import is_policy_file
from tensorcfr.kernels.evaluation import normalise

FILES = ["csv", "json", "parquet", "npz"]


def random_policy(game: CompiledGame, seed: int = 0) -> Policy:
    """Every action with a positive probability, and all the digits of a float64."""
    weight = np.random.default_rng(seed).random(game.n_sequences)
    probabilities = normalise(game.form, weight)
    return Policy(game, probabilities)


def same_bits(one: Policy, other: Policy) -> bool:
    return one.probabilities.tobytes() == other.probabilities.tobytes()


# --------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("format", FILES)
def test_files_round_trip(format: str, tmp_path: Path) -> None:
    """Other games: ``test_table_order.py``."""
    if format == "parquet":
        pytest.importorskip("pyarrow")
    game = compile_game("leduc")
    policy = random_policy(game)
    path = save_policy(policy, tmp_path / f"policy.{format}")
    assert same_bits(read_policy(game, path), policy)
    assert same_bits(find_policy(game, path), policy)
    other = save_policy(policy, tmp_path / "other", format)
    assert same_bits(read_policy(game, other, format), policy)
    assert evaluate(game, path) == evaluate(game, policy)


@given(game=st.one_of(games(max_histories=80), public_tree_games()), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_tables_have_every_sequence_once(game: Any, seed: int) -> None:
    compiled = compile_game(game)
    policy = random_policy(compiled, seed)
    table = policy_table(policy)
    rows = list(table.rows())
    assert len(rows) == len(table)
    assert table.to_dict() == policy.to_dict() == {label: policy[label] for label in policy}
    for player, label, action, probability in rows:
        assert compiled.infoset_player[compiled.infoset_index[label]] == player
        assert policy[label][action] == probability
    assert same_bits(Policy.from_mapping(compiled, policy.to_dict()), policy)


def test_tables_of_other_libraries() -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    game = compile_game("leduc")
    policy = random_policy(game)
    frame, arrow = policy_table(policy).to_pandas(), policy_table(policy).to_arrow()
    assert (
        list(frame.columns) == arrow.column_names == ["player", "infoset", "action", "probability"]
    )
    assert frame["player"].tolist() == [row[0] for row in policy_table(policy).rows()]
    for table in (frame, arrow, frame.sample(frac=1, random_state=1)):
        assert same_bits(find_policy(game, table), policy)


def test_json_has_no_number_for_what_is_not_reached(tmp_path: Path) -> None:
    """The values of actions that nobody comes to are null, and the policy is read back."""
    game = compile_game("kuhn")
    rows = zip(game.infoset_labels, game.infoset_actions, strict=True)
    # Nobody ever bets.
    passive = Policy.from_mapping(game, {label: {"pass": 1.0} for label, _ in rows})
    path = values(game, passive).table().save(tmp_path / "values.json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(path.read_text(), parse_constant=refuse)
    assert found["Kb"]["bet"]["expected_value"] is None
    assert found["K"]["pass"]["expected_value"] == 1
    assert same_bits(read_policy(game, path), passive)


def test_rows_may_come_in_any_order_and_leave_out_zeros(tmp_path: Path) -> None:
    game = compile_game("kuhn")
    path = tmp_path / "policy.csv"
    lines = [f"{label},{action},{p},note" for label in game.infoset_labels[::-1]
             for action, p in (("bet", 0.25), ("pass", 0.75))]  # fmt: skip
    lines = [line for line in lines if not line.startswith("K,")] + ["K,bet,1,note"]
    path.write_text("infoset,action,probability,why\n" + "\n".join(lines))
    policy = read_policy(game, path)
    assert policy["J"] == {"pass": 0.75, "bet": 0.25}
    assert policy["K"] == {"pass": 0.0, "bet": 1.0}


def test_a_table_that_a_spreadsheet_saved(tmp_path: Path) -> None:
    """It begins with a byte order mark, and its lines end as on Windows."""
    game = compile_game("kuhn")
    policy = random_policy(game)
    rows = [f"{label},{action},{p!r}" for _, label, action, p in policy_table(policy).rows()]
    path = tmp_path / "policy.csv"
    path.write_bytes("\r\n".join(["infoset,action,probability", *rows]).encode("utf-8-sig"))
    assert same_bits(read_policy(game, path), policy)


GOOD = "infoset,action,probability\n"
BAD_FILES = [
    ("csv", "infoset,action\n", "no column 'probability'"),
    ("csv", GOOD + "X,bet,1\n", r"policy\.csv:2: kuhn has no infoset 'X'"),
    ("csv", GOOD + "J,pass,1\nJ,raise,0\n", r"policy\.csv:3: infoset 'J' has no action 'raise'"),
    ("csv", GOOD + "J,pass,1\nJ,pass,1\n", r"policy\.csv:3: action 'pass' of infoset 'J' is given"),
    ("csv", GOOD + "J,pass,one\n", r"policy\.csv:2: 'one' is not a probability"),
    ("csv", GOOD + "J,pass\n", r"policy\.csv:2: 2 cells, but 3 columns"),
    ("csv", GOOD + "J,pass,1\n", r"policy\.csv: the policy has no probabilities for infoset 'Q'"),
    ("csv", GOOD + "J,pass,0.5\n", r"policy\.csv: .*infoset 'Q'|'J' are not a distribution"),
    ("csv", "", "no column 'infoset'"),
    ("json", "{", "cannot read .*json"),
    ("json", "[]", "expected infosets"),
    ("json", '{"J": 1}', "infoset 'J' has 1, not its actions"),
    ("json", '{"J": {"bet": 1, "bet": 0}}', "'bet' is given twice"),
    ("json", '{"J": {"bet": null}}', "None is not a probability"),
    (
        "json",
        '{"J": {"bet": NaN, "pass": 0}}',
        r"policy\.json: .*'J' are not a distribution|no probabilities",
    ),
    ("json", f'{{"J": {{"bet": 1{"0" * 400}}}}}', r"1000.*\.\.\. is not a probability"),
    ("npz", "not an archive", r"policy\.npz is not an \.npz file"),
    ("parquet", "not a table", "cannot read"),
    ("txt", "", "cannot have the format 'txt'"),
]


@pytest.mark.parametrize(("format", "text", "message"), BAD_FILES)
def test_bad_files(format: str, text: str, message: str, tmp_path: Path) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"policy.{format}"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_policy(compile_game("kuhn"), path)


def test_a_number_too_large_among_rows_in_order(tmp_path: Path) -> None:
    """Rows in the game's order are read many at a time, and still refused one by one."""
    game = compile_game("kuhn")
    given: dict[str, Any] = Policy.uniform(game).to_dict()
    given["Q"]["bet"] = 10**400
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(given))
    with pytest.raises(ValueError, match=r"1000.*\.\.\. is not a probability"):
        read_policy(game, path)


def test_what_holds_a_policy(tmp_path: Path) -> None:
    """Of a damaged archive the reader says why: one that asks for zip 9.9 was a bare error."""
    game = compile_game("kuhn")
    path = save_policy(Policy.uniform(game), tmp_path / "policy.npz")
    assert is_policy_file(path)
    assert not is_policy_file(solve(game, iters=1).save(tmp_path / "solution.npz"))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 99
    for damaged in (bytes(content), path.read_bytes()[:99], b"", b"PK"):
        path.write_bytes(damaged)
        assert not is_policy_file(path)
        with pytest.raises(ValueError, match=r"policy\.npz is not an \.npz file, or it is damaged"):
            Solution.load(path)
    with pytest.raises(FileNotFoundError):
        is_policy_file(tmp_path / "none.npz")


def test_damaged_archives(tmp_path: Path) -> None:
    """The archive of a policy is trusted as little as that of a game."""
    game = compile_game("kuhn")
    path = tmp_path / "policy.npz"
    uniform, digest = Policy.uniform(game).probabilities, np.array(game.digest)
    np.savez(path, probability=uniform, digest=digest)
    assert same_bits(read_policy(game, path), Policy.uniform(game))
    content = bytearray(path.read_bytes())
    content[content.index(uniform.tobytes()) + 8 * 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged: .*'?probability.*Bad CRC-32"):
        read_policy(game, path)
    np.savez_compressed(path, probability=uniform, digest=digest)
    with pytest.raises(ValueError, match=r"'probability\.npy' is compressed"):
        read_policy(game, path)
    np.savez(path, probability=uniform, digest=digest, more=uniform)
    with pytest.raises(ValueError, match="holds no policy: its arrays are probability, digest"):
        read_policy(game, path)
    wrong: list[tuple[np.ndarray, str]] = [
        (uniform / 2, "empty sequence"),
        (np.where(uniform < 1, 0.25, 1.0), r"policy\.npz: .*infoset 'J' are not a distribution"),
        (uniform[:-1], "the probabilities of kuhn must be float64"),
    ]
    for probability, message in wrong:
        np.savez(path, probability=probability, digest=digest)
        with pytest.raises(ValueError, match=message):
            read_policy(game, path)


def test_damaged_parquet(tmp_path: Path) -> None:
    """What the library raises of its own, and an index that it lets through."""
    pa = pytest.importorskip("pyarrow")
    game = compile_game("kuhn")
    path = save_policy(Policy.uniform(game), tmp_path / "policy.parquet")
    content = path.read_bytes()
    for damaged in (
        content[:-100] + bytes(90) + content[-10:],
        content.replace(b"infoset", b"infos\xffp"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"cannot read .*policy\.parquet"):
            read_policy(game, path)
    with pytest.raises(FileNotFoundError):
        read_policy(game, tmp_path / "none.parquet")
    for index in (-1, 7):
        column = pa.DictionaryArray.from_arrays(pa.array([0, index]), pa.array(["J"]), safe=False)
        table = pa.table({"infoset": column, "action": ["bet", "pass"], "probability": [1.0, 0.0]})
        with pytest.raises(ValueError, match="bounds"):
            find_policy(game, table)


def test_a_policy_of_another_game(tmp_path: Path) -> None:
    path = save_policy(Policy.uniform(compile_game("kuhn")), tmp_path / "policy.npz")
    with pytest.raises(ValueError, match="for a different game, not for kuhn"):
        read_policy(compile_game("kuhn(players=3)"), path)
    with pytest.raises(TypeError, match="policy must be a Policy, a mapping"):
        find_policy(compile_game("kuhn"), 5)


def test_policies_move_by_label() -> None:
    """To the game laid out otherwise and back; not to a game whose actions have other names."""
    flat, cut = compile_game("leduc", symmetry=False), compile_game("leduc", cut=2, symmetry=False)
    draw = np.random.default_rng(3)
    policy = Policy.from_rows(flat, lambda _, actions: draw.dirichlet(np.ones(len(actions))))
    moved = policy.moved_to(cut)
    assert moved.game is cut
    assert moved.to_dict() == policy.to_dict()
    np.testing.assert_array_equal(moved.moved_to(flat).probabilities, policy.probabilities)
    assert policy.moved_to(flat) is policy
    with pytest.raises(ValueError, match="chicken has no infoset 'P0' like stag_hunt"):
        Policy.uniform(compile_game("chicken")).moved_to(compile_game("stag_hunt"))
    with pytest.raises(ValueError, match="policy is for chicken, not for stag_hunt"):
        evaluate(compile_game("stag_hunt"), Policy.uniform(compile_game("chicken")))
    with pytest.raises(ValueError, match="policy is for leduc flat, not in chunks: compile"):
        evaluate(cut, policy)
    with pytest.raises(ValueError, match="another game that is called leduc: its rules or its cut"):
        evaluate(cut, Policy.uniform(compile_game("leduc", cut=1, symmetry=False)))
    with pytest.raises(ValueError, match="leduc has no infoset 'J' like kuhn"):
        policy.moved_to(compile_game("kuhn"))


def test_infosets_that_are_one_have_one_strategy() -> None:
    """Suits are alike in Leduc: hands of a node, and nodes after cards of the board."""
    game = compile_game("leduc", cut=2)
    uniform = Policy.uniform(game.flat()).to_dict()
    alike = ["Ks cc/Js", "Kh cc/Js", "Ks cc/Jh", "Kh cc/Jh"]
    first, *rest = uniform[alike[0]]
    pure = {first: 1.0} | dict.fromkeys(rest, 0.0)
    for some in (alike[:1], alike[:2], alike[:3]):
        with pytest.raises(ValueError, match="is merged with others in leduc"):
            Policy.from_mapping(game, {**uniform, **dict.fromkeys(some, pure)})
    policy = Policy.from_mapping(game, {**uniform, **dict.fromkeys(alike, pure)})
    assert [policy[label] for label in alike] == [pure] * 4


def test_wrong_types_are_named() -> None:
    game = compile_game("kuhn")
    given: dict[str, Any] = Policy.uniform(game).to_dict()
    with pytest.raises(TypeError, match=r"strategy at infoset 'J' must be .*, not 0\.5"):
        evaluate(game, {**given, "J": 0.5})
    with pytest.raises(ValueError, match="'bet' at infoset 'J' must be a number, not 'often'"):
        evaluate(game, {**given, "J": {"bet": "often", "pass": 0}})


def test_any_source_locks_and_warms(tmp_path: Path) -> None:
    game = compile_game("leduc")
    policy = random_policy(game)
    path = save_policy(policy, tmp_path / "policy.json")
    json.loads(path.read_text())
    locked = solve(game, iters=3, locks=find_policy(game, path).to_dict(1))
    assert same_bits(
        Policy.from_mapping(game, {**locked.policy.to_dict(0), **policy.to_dict(1)}), locked.policy
    )
    warm = solve(game, iters=1, warm_start=path)
    assert same_bits(warm.policy, solve(game, iters=1, warm_start=policy).policy)


# ----------------------------------------------------------------------------------- OpenSpiel

GOOFSPIEL = "goofspiel(imp_info=True,num_cards=3,points_order=descending,returns_type=win_loss)"
OPENSPIEL: list[tuple[str | None, str | None]] = [
    ("kuhn", "kuhn_poker"),
    ("kuhn(players=3)", "kuhn_poker(players=3)"),
    ("leduc", "leduc_poker"),
    ("liars_dice(faces=2)", "liars_dice(dice_sides=2)"),
    ("liars_dice(faces=3)", "liars_dice(dice_sides=3)"),
    ("liars_dice(faces=4)", "liars_dice(dice_sides=4)"),
    (None, "liars_dice(numdice=2,dice_sides=2)"),
    ("goofspiel(cards=3)", GOOFSPIEL),
    (None, "leduc_poker(suit_isomorphism=True)"),
    (None, "liars_dice(numdice=1,dice_sides=3,bidding_rule=reset-quantity)"),
    (None, GOOFSPIEL.replace("=3", "=4")),
    (None, "first_sealed_auction(max_value=3)"),
    (None, "matching_pennies_3p"),
    (None, "matrix_rps"),
    (None, "kuhn_poker(players=4)"),
    ("leduc", None),
    ("goofspiel(cards=3)", None),
    ("kuhn(players=3)", None),
    ("prisoners_dilemma", None),
]  # fmt: skip


@pytest.mark.openspiel
@pytest.mark.parametrize(("name", "text"), OPENSPIEL, ids=[row[1] or row[0] for row in OPENSPIEL])
def test_openspiel_finds_the_same_nash_conv(name: str | None, text: str | None) -> None:
    """In a game of OpenSpiel, or without its text in one that is made of the compiled game."""
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(text) if text else to_openspiel(compile_game(name))
    assert text or theirs.get_type().short_name == "efg_game"
    if theirs.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        theirs = pyspiel.convert_to_turn_based(theirs)
    game = compile_game(name or theirs)
    policy = random_policy(game)
    ours = evaluate(game, policy).nash_conv
    exported = policy_to_pyspiel(policy, theirs)
    assert pyspiel.nash_conv(theirs, exported, use_state_get_policy=True) == pytest.approx(
        ours, abs=1e-9
    )
    assert same_bits(from_openspiel(game, exported, theirs), policy)
    table = policy_to_openspiel(policy, theirs)
    assert same_bits(find_policy(game, table), policy)
    assert evaluate(game, table).nash_conv == ours


@pytest.mark.openspiel
@pytest.mark.parametrize("given", [{0: 0.5, 1: 0.6}, {0: 1.0, 7: 0.5}, {0: -0.5, 1: 1.5}, {}])
def test_no_distribution_of_openspiel(given: dict[int, float]) -> None:
    pytest.importorskip("pyspiel")

    class Theirs:
        def action_probabilities(self, state: Any) -> dict[int, float]:
            text = state.information_state_string(state.current_player())
            return given if text == "1p" else {0: 0.25, 1: 0.75}

    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="no distribution over the legal actions of 'Qp'"):
        from_openspiel(game, Theirs(), "kuhn_poker")


@pytest.mark.openspiel
def test_another_game_of_openspiel_is_refused() -> None:
    pytest.importorskip("pyspiel")
    policy = Policy.uniform(compile_game("kuhn"))
    with pytest.raises(
        ValueError, match=r"not the same game: at the root chance has 3 choices, and"
    ):
        policy_to_openspiel(policy, "leduc_poker")
    with pytest.raises(ValueError, match="which game of OpenSpiel is this policy for"):
        from_openspiel(compile_game("kuhn"), policy_to_pyspiel(policy, "kuhn_poker"))
    # It was made for an efg_game, whose information states are those of no other game.
    with pytest.raises(ValueError, match="which game of OpenSpiel is this policy for"):
        policy_to_openspiel(policy)


@pytest.mark.openspiel
def test_a_bot_of_openspiel_plays_the_policy() -> None:
    """At each infoset of Leduc it has the policy's probabilities, and draws by them."""
    pyspiel = pytest.importorskip("pyspiel")
    game, theirs = compile_game("leduc"), pyspiel.load_game("leduc_poker")
    policy = random_policy(game)
    bots = [openspiel_bot(policy, player, theirs, seed=3) for player in range(2)]
    table = policy_to_openspiel(policy, theirs)
    generator, seen = np.random.default_rng(1), set()
    for _ in range(300):
        state = theirs.new_initial_state()
        for bot in bots:
            bot.restart()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(generator.choice(state.legal_actions())))
                continue
            probabilities, action = bots[state.current_player()].step_with_policy(state)
            assert dict(probabilities) == pytest.approx(table.action_probabilities(state))
            assert dict(probabilities)[action] > 0
            seen.add((state.information_state_string(), action))
            state.apply_action(action)
    assert len(seen) > 300
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        openspiel_bot(policy, 2, theirs)
    with pytest.raises(ValueError, match="which game of OpenSpiel is this policy for"):
        openspiel_bot(policy, 0)


@pytest.mark.openspiel
def test_a_solution_goes_to_openspiel_s_own_game() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms.exploitability import nash_conv

    taken = solve(compile_game("openspiel:kuhn_poker"), "cfr", iters=5)
    found = nash_conv(pyspiel.load_game("kuhn_poker"), policy_to_openspiel(taken))
    assert found == pytest.approx(taken.nash_conv, abs=1e-9)


# ------------------------------------------------------------------------------------- sources


def test_the_page_on_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_best_responses_are_policies_too(tmp_path: Path) -> None:
    game = compile_game("leduc")
    response = best_response(game, Policy.uniform(game), 0)
    path = save_policy(response.policy, tmp_path / "response.csv")
    assert evaluate(game, path).values[0] == pytest.approx(response.value, abs=1e-12)
