"""Titles of games, and the style that an algorithm has in all pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorcfr import Policy, compile_game, solve
from tensorcfr.analysis import values
from tensorcfr.plots import has_hands, infoset_chart
from tensorcfr.plots.style import line_style, line_styles, new_figure, save_picture
from tensorcfr.plots.titles import game_title


@pytest.mark.parametrize(
    ("spec", "title"),
    [
        ("kuhn", "Kuhn poker"),
        ("kuhn(cards=10)", "Kuhn poker, 10 cards"),
        ("leduc(players=3)", "Leduc poker, three players"),
        ("bluff", "Bluff, one die each"),
        ("bluff(dice=(2, 2))", "Bluff, two dice each"),
        ("liars_dice(dice=(1, 2, 1), faces=3)", "Liar's dice, 1, 2 and 1 dice, 3 faces"),
        ("goofspiel(cards=4, prizes='random')", "Goofspiel, 4 cards, random prizes"),
        ("leduc(raise_cap=3)", "Leduc poker, raise cap 3"),
        ("of_my_own(x=1)", "of_my_own(x=1)"),
        ("game (1).efg", "game (1).efg"),
    ],
)
def test_titles(spec: str, title: str) -> None:
    assert game_title(spec) == title


def test_an_algorithm_looks_the_same_in_every_picture() -> None:
    alone = line_styles(["cfr+"])["cfr+"]
    among = line_styles(["mine", "chance_sampling", "cfr", "cfr+", "cfr+(alternating=False)"])
    assert among["cfr+"] == alone == line_style(1)
    assert among["cfr"] == line_style(0)
    assert len({style["color"] for style in among.values()}) == 5
    many = line_styles([*map(str, range(60)), "cfr"])
    assert many["cfr"] == line_style(0)
    assert sum(style == line_style(0) for name, style in many.items() if name != "cfr") <= 12


def test_infosets_by_actions() -> None:
    game = compile_game("goofspiel(cards=3)")
    assert not has_hands(game)
    assert has_hands(compile_game("kuhn"))
    policy = solve(game, "cfr+", iters=20).policy
    figure = infoset_chart(policy, player=1, most=5)
    ax, right = figure.axes[0], figure.axes[0].child_axes[0]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    reach = values(game, policy).reach
    own = [i for i in range(game.n_infosets) if game.infoset_player[i] == 1]
    expected = sorted(sorted(own, key=lambda i: -reach[i])[:5])
    assert labels == [f"{game.infoset_labels[i]}  (player 1)" for i in expected]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    image = ax.get_images()[0].get_array()
    for row, infoset in enumerate(expected):
        given = dict(zip(game.infoset_actions[infoset], image[row].data, strict=False))
        if len(given) == 3:
            assert list(given.values()) == pytest.approx(list(policy[labels[row][:-12]].values()))
    assert right.get_ylabel() == "reach"
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        infoset_chart(policy, player=2)
    with pytest.raises(ValueError, match="most must be at least 1"):
        infoset_chart(Policy.uniform(game), most=0)


def test_a_picture_and_its_vector_version_are_the_same_bytes_again(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        figure = new_figure(3.0, 2.0)
        figure.subplots().plot([1, 2], [3, 4])
        path = tmp_path / name / "curve.png"
        path.parent.mkdir()
        save_picture(figure, path)
        files.append((path.read_bytes(), path.with_suffix(".svg").read_bytes()))
    assert files[0] == files[1]
