"""Sizes told before compiling equal those of the compiled game, or estimate them well."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest

from support.random_games import random_game, random_public_tree_game
from tensorcfr import Chance, Decision, Game, MemoryLimitError, Terminal, compile_game
from tensorcfr.compilers import CompileProgress, game_size, history_reader
from tensorcfr.compilers.sizes import sizing
from tensorcfr.errors import GameError
from tensorcfr.games import make_game


def assert_counted(source: Any) -> None:
    size, game = game_size(source), compile_game(source)
    assert size.is_exact
    assert (size.n_players, size.histories) == (game.n_players, game.n_histories)
    assert (size.infosets, size.sequences) == (game.n_infosets, game.n_sequences)
    assert size.decisions == game.n_decision_nodes
    assert size.terminals == len(game.tree.terminal)
    assert size.interval == (size.histories, size.histories)
    if game.public is not None:
        assert size.public_nodes == game.public.tree.n_nodes


@pytest.mark.parametrize(
    "source",
    [
        *("kuhn(cards=5)", "kuhn(players=3)", "leduc", "bluff(dice=(2, 1), faces=3)"),
        *(random_public_tree_game(seed) for seed in range(8)),
    ],
    ids=str,
)
def test_games_of_private_hands_are_counted(source: Any) -> None:
    assert_counted(source)


@pytest.mark.parametrize("name", ["goofspiel(cards=4)", "goofspiel(cards=3)"])
def test_histories_are_estimated(name: str) -> None:
    size, game = game_size(name, seconds=0.3), compile_game(name)
    assert not size.is_exact
    # Subtrees of one stratum are of one size here, so that every pass counts exactly.
    assert size.histories == pytest.approx(game.n_histories, rel=1e-12)
    assert size.decisions == pytest.approx(game.n_decision_nodes, rel=1e-12)
    assert 0.6 * game.n_infosets < size.infosets < 1.4 * game.n_infosets
    low, high = size.infosets_interval
    assert low <= game.n_infosets <= high
    assert low <= size.infosets <= high <= game.n_decision_nodes


@pytest.mark.parametrize("seed", range(8))
def test_the_estimate_is_unbiased_and_says_its_error(seed: int) -> None:
    """The mean over many passes is within four of its standard errors of the true number."""
    rules = random_game(seed)
    size, game = game_size(rules, seconds=1.0, seed=seed), compile_game(rules)
    slack = 4 * size.relative_error * size.histories + 1e-9
    assert abs(size.histories - game.n_histories) <= slack
    low, high = size.interval
    assert low <= size.histories <= high
    low, high = size.infosets_interval
    assert low <= game.n_infosets <= high + slack


def test_the_same_seed_gives_the_same_estimate() -> None:
    rules = random_game(5)
    # As many passes as there may be: none is left out for want of time.
    first, second = (game_size(rules, seconds=30.0, seed=3).histories for _ in range(2))
    assert first == second


class Deep(Game):
    """Two players who halve a line of coins; 2 ** (depth + 1) - 1 histories."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def node(self, history: tuple[str, ...]) -> Any:
        if len(history) == self.depth:
            return Terminal((0.0, 0.0))
        return Decision(len(history) % 2, f"{history}", ("a", "b"))


def test_a_compile_that_cannot_fit_says_about_how_much_it_needs() -> None:
    with pytest.raises(MemoryLimitError, match=r"histories\) needs about .*limit is 40") as caught:
        compile_game(Deep(21), memory_limit=40 << 20)
    true = (2**22 - 1) * history_reader.BYTES_AFTER_READING
    assert caught.value.needed == pytest.approx(true, rel=0.1)
    assert caught.value.about
    assert pickle.loads(pickle.dumps(caught.value)).about


def test_a_compile_far_beyond_the_limit_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = 0
    node = Deep.node

    def counting(self: Deep, history: tuple[str, ...]) -> Any:
        nonlocal walked
        walked += 1
        return node(self, history)

    monkeypatch.setattr(Deep, "node", counting)
    with pytest.raises(MemoryLimitError, match="needs about"):
        compile_game(Deep(30), memory_limit=200 << 20)
    # A limit of 200 MiB is some million histories: refused after a fraction of them.
    assert walked < 300_000


def test_a_game_that_never_ends() -> None:
    class Endless(Game):
        def node(self, state: Any) -> Any:
            return Chance({"on": 1.0})

        def root(self) -> Any:
            return 0

        def next(self, state: Any, action: Any) -> Any:
            return 0

    with pytest.raises(GameError, match="does the game end"):
        game_size(Endless())


def test_a_pass_that_does_not_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    size = game_size(Deep(2000), seconds=1e-4)
    assert math.isinf(size.relative_error)
    assert re.search(r"more than .* histories\n  more than [\d,]+ infosets\n", str(size))
    assert size.to_dict()["relative_error"] is None


def test_a_game_that_no_machine_holds() -> None:
    said = str(game_size(Deep(200), seconds=0.1))
    assert "too large to compile: that would take more than 1,024 PiB" in said
    assert "per iteration" not in said
    assert "1024 PiB" not in said


def test_progress_while_histories_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "TOLD_AFTER", 0.0)
    monkeypatch.setattr(sizing, "TOLD_EVERY", 0.0)
    seen: list[CompileProgress] = []
    game = compile_game(Deep(12), progress=seen.append)
    assert seen
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1].done <= game.n_histories
    assert seen[-1].expected == pytest.approx(game.n_histories, rel=1e-9)
    without = compile_game(Deep(12))
    for name, array in game.arrays().items():
        np.testing.assert_array_equal(array, without.arrays()[name])

    class EnoughError(Exception):
        pass

    def stop(progress: CompileProgress) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        compile_game(Deep(12), progress=stop)


def test_a_walk_of_unknown_length_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, after half a minute, where nobody follows it."""
    monkeypatch.setattr(sizing, "WARNED_AFTER", 0.0)
    with pytest.warns(
        UserWarning, match=r"[\d,]+ histories read in .* s, and samples do not"
    ) as said:
        compile_game(Deep(12))
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_game(Deep(12), progress=lambda _: None)


def test_texts() -> None:
    assert "936 infosets, 2,186 sequences" in str(game_size("leduc"))
    said = str(game_size("goofspiel(cards=3)", seconds=0.1))
    assert re.search(r"about \d+ infosets \(95 %: \d+ to \d+\), about", said)
    said = game_size("kuhn").to_dict()
    assert (said["infosets"], said["is_exact"]) == (12, True)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="seconds must be"):
        game_size("kuhn", seconds=0)
    with pytest.raises(ValueError, match="no game"):
        game_size("kuhm")


PUBLIC: dict[str, Any] = {
    **{name: name for name in ("kuhn(cards=5)", "leduc", "bluff(dice=(2, 1), faces=3)")},
    # Some deals do not get everywhere: chance goes by the hands.
    **{f"random {seed}": random_public_tree_game(seed) for seed in range(4)},
}


class VeryDeep(Game):
    """10 ** 400 histories, more than a float holds; numbers of OpenSpiel's battleship."""

    n_players = 1

    def node(self, history: tuple[int, ...]) -> Decision | Terminal:
        if len(history) == 400:
            return Terminal((0.0,))
        return Decision(0, str(len(history)), tuple(range(10)))


def test_more_histories_than_a_float_holds() -> None:
    """Told without a warning, which would be an error here."""
    size = game_size(VeryDeep(), seconds=0.2)
    assert size.interval == (size.histories, math.inf)
    assert "more than" in str(size)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_trees_are_estimated_where_they_do_not_fit(name: str) -> None:
    """Nodes of one stratum of Bluff have subtrees of one size: every pass counts exactly."""
    source = PUBLIC[name]
    rules = make_game(source) if isinstance(source, str) else source
    size, counted = (game_size(rules, memory_limit=m, seconds=0.3) for m in (1, None))
    assert not size.is_exact
    assert counted.is_exact
    slack = 4 * size.relative_error + 1e-12
    if name.startswith("bluff"):
        assert slack == 1e-12
    assert slack < 0.3
    for what in ("terminals", "decisions", "infosets"):
        assert getattr(size, what) == pytest.approx(getattr(counted, what), rel=slack), what
    # A whole number.
    assert size.public_nodes == pytest.approx(
        counted.public_nodes, rel=slack, abs=1.0 if slack > 1e-9 else 0.0
    )
    # The deal itself has some histories more: the root, and one for each hand of the first player.
    assert size.histories == pytest.approx(counted.histories, rel=slack + 12 / counted.histories)
    low, high = size.infosets_interval
    assert low <= size.infosets <= high
    assert low * (1 - slack) <= counted.infosets <= high * (1 + slack)
