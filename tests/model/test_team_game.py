"""Games of two teams: what their beliefs are called, and their files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorcfr import CompiledGame, Solution, TeamGame, compile_game, solve, team_game
from tensorcfr.storage.game_files import pack_game, unpack_game

TEAMS = ((0, 1), (2,))


@pytest.fixture(scope="module")
def kuhn() -> CompiledGame:
    return compile_game("kuhn(players=3, cards=4)")


def test_beliefs_are_called_by_their_infosets(kuhn: CompiledGame) -> None:
    """The first member of the team acts first and may hold any of four cards: a prescription says
    what each does, 2 ** 4 of them.  A team of one has the labels of the game."""
    game = team_game(kuhn, TEAMS)
    labels, actions = game.infoset_labels, game.infoset_actions
    assert game.name == "kuhn(players=3, cards=4), teams 0+1 v 2"
    assert len(set(labels)) == len(labels) == game.n_infosets
    assert labels[0] == "0+1 #0: T, J, Q, K"
    expected = {
        f"T {t}, J {j}, Q {q}, K {k}"
        for t in ("pass", "bet")
        for j in ("pass", "bet")
        for q in ("pass", "bet")
        for k in ("pass", "bet")
    }
    assert set(actions[0]) == expected
    assert len(actions[0]) == 16
    member = kuhn.infoset_player == 2
    of_game = {
        label: own
        for label, own, is_hers in zip(
            kuhn.infoset_labels, kuhn.infoset_actions, member, strict=True
        )
        if is_hers
    }
    alone = dict(zip(labels, actions, strict=True))
    assert {label: alone[label] for label in of_game} == of_game
    assert all(game.infoset_index[label] == place for place, label in enumerate(labels))
    leaves = [label for label in labels if " leaf " in label]
    assert {alone[label] for label in leaves} == {("end",)}
    assert len(leaves) == sum(dag.n_leaves for dag in game.dags)
    text = game.summary().splitlines()
    assert text[0] == game.name
    assert text[1].startswith(f"  team 0+1: {game.dags[0].n_beliefs:,} beliefs, ")
    # Four cards at four places, with two actions each.
    assert text[2].startswith("  team 2: 16 beliefs, 32 prescriptions, 32 leaves, ")


def test_what_a_game_of_teams_takes_from_its_game(kuhn: CompiledGame) -> None:
    game = team_game(kuhn, TEAMS)
    assert (game.zero_sum, game.constant_sum) == (kuhn.zero_sum, kuhn.constant_sum) == (True, True)
    assert (game.unit, game.utility_sums) == (kuhn.unit, kuhn.utility_sums)
    assert game.n_decision_nodes == sum(dag.n_beliefs for dag in game.dags)
    assert team_game(kuhn, ((2,), (0, 1))).digest != game.digest
    # Rounding of a value near zero is the game's.
    assert game.round_to_zero(1e-17) == kuhn.round_to_zero(1e-17)


def test_files_keep_the_teams(kuhn: CompiledGame, tmp_path: Path) -> None:
    """Beliefs are made again from the game and the teams."""
    game, swapped = team_game(kuhn, TEAMS), team_game(kuhn, ((2,), (0, 1)))
    path = solve(game, "cfr+", iters=0).save(tmp_path / "solution.npz")
    read = Solution.load(path).game
    assert isinstance(read, TeamGame)
    assert (read.teams, read.name, read.digest) == (TEAMS, game.name, game.digest)
    assert list(read.infoset_labels) == list(game.infoset_labels)
    for name, array in game.game.arrays().items():
        np.testing.assert_array_equal(read.game.arrays()[name], array)
    assert Solution.load(path, game=game).game is game
    with pytest.raises(ValueError, match=r"the file is of .* 0\+1 v 2, not of .* 2 v 0\+1"):
        Solution.load(path, game=swapped)


@pytest.mark.parametrize(
    "teams", ["[[0, 1], [1, 2]]", "[[0, 1]]", '"01"', "null", "[[0, 1], [2", "[" * 5000]
)
def test_damaged_teams(kuhn: CompiledGame, teams: str) -> None:
    arrays = pack_game(team_game(kuhn, TEAMS))
    assert arrays["game/teams/text"].tobytes() == b"[[0, 1], [2]]"
    arrays["game/teams/text"] = np.frombuffer(teams.encode(), dtype=np.uint8)
    with pytest.raises(ValueError, match="array 'game/teams/text' is damaged: "):
        unpack_game(arrays)


@pytest.mark.parametrize("spec", ["kuhn(players=3)", "goofspiel(cards=3)"])
@pytest.mark.parametrize("teams", [((0, 1), (2,)), ((1,), (0, 2)), ((0,), (1,))])
def test_members_share_the_payoffs_of_their_team(
    spec: str, teams: tuple[tuple[int, ...], ...]
) -> None:
    """Every member gets the mean; where all are alone, nothing changes."""
    alone = compile_game(spec)
    if alone.n_players != sum(map(len, teams)):
        with pytest.raises(ValueError, match="player"):
            compile_game(spec, teams=teams)
        return
    game = compile_game(spec, teams=teams)
    expected = alone.tree.utility.copy()
    for team in teams:
        members = list(team)
        expected[:, members] = alone.tree.utility[:, members].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(game.tree.utility, expected, rtol=0, atol=1e-12)
    assert list(game.infoset_labels) == list(alone.infoset_labels)
    np.testing.assert_array_equal(game.tree.parent, alone.tree.parent)
    np.testing.assert_array_equal(game.tree.probability, alone.tree.probability)
    assert (game.digest == alone.digest) == (len(teams) == alone.n_players)
