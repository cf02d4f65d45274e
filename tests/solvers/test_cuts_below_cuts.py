"""Games that are cut again below their cuts equal those that are cut once, and slow references."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from support.card_games import EveryRound, RandomCards
from support.equality import EARLY_MARKS, TOLERANCE, as_game, assert_equal, bits
from support.layouts import laid_out, numbers_of, step_alike
from support.reference import ReferenceCFR
from support.tiers import tiered
from support.variants import VARIANTS, floored
from tensorcfr import Solver, compile_game, load_game, save_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR, PCFR_PLUS
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.evaluation.profile import profile_of
from tensorcfr.model.branch_shares import divide, share_of, visits_to
from tensorcfr.model.chunked_form import ChunkedForm
from tensorcfr.solvers.value_bounds import game_bounds


def depth(form: ChunkedForm) -> int:
    """How many chunks are below each other."""
    found = [0]
    for above in form.parent_part.tolist():
        found.append(found[above] + 1)
    return max(found)


RULES = {
    "as they are": DCFR(floor=0.01),
    "predictive": PCFR_PLUS(floor=0.01),
    "simultaneous": CFR(alternating=False, floor=0.01),
}


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_every_kind(rule: str, interpreted: None) -> None:
    """Rules that predict or update at once, on a public tree: step by step as in one piece."""
    games = [compile_game("leduc(ranks=2)", cut=cut) for cut in (False, (2, 4))]
    assert depth(games[1].chunks) == 2
    step_alike(*(Solver(game, RULES[rule]) for game in games), (1, 1, 3))


def test_states_that_come_back_deeper() -> None:
    """A bid of bluff is one public state, whether one bid came before it or several."""
    rules = "bluff(dice=(2, 1), faces=4)"
    one, other = (Solver(compile_game(rules, cut=cut), CFR()) for cut in (False, (2, 4)))
    assert depth(other.game.chunks) == 2
    step_alike(one, other, (3,))


CARDS: dict[str, Any] = {
    "one card": {"ranks": 4, "suits": 2, "width": 1, "rounds": 2},
    "one card, three deals": {"ranks": 3, "suits": 2, "width": 1, "rounds": 3},
    "two cards": {"ranks": 4, "suits": 2, "width": 2, "rounds": 2, "public": (0,)},
    "several at once": {"ranks": 3, "suits": 3, "width": 1, "rounds": 2, "deals": (2, 1)},
    "a suit apart": {"ranks": 3, "suits": 2, "width": 1, "rounds": 3, "apart": (0,)},
}


@pytest.mark.parametrize(
    ("name", "symmetry"),
    tiered(
        product(CARDS, (True, False)),
        [("one card, three deals", True), ("several at once", True)],
    ),
)
def test_games_of_cards(name: str, symmetry: bool) -> None:
    """After 1, 2, 3 and 10 iterations of CFR: strategies, values and NashConv as with one cut."""
    rules = EveryRound(5, **CARDS[name])
    rounds, whole = rules.rounds, compile_game(rules, symmetry=symmetry)
    once = Solver(whole, CFR(floor=0.01))
    others = [
        Solver(compile_game(rules, symmetry=symmetry, cut=cut), CFR(floor=0.01))
        for cut in range(1, rounds)
    ]
    assert [depth(one.game.chunks) for one in others] == list(range(rounds, 1, -1))
    for count in (1, 1, 1, 7):
        once.iterate(count)
        for one in others:
            one.iterate(count)
            step_alike(one, once, (0,))


@pytest.mark.parametrize("seed", tiered([3, 4, 36], [4]))
def test_uneven_betting(seed: int, interpreted: None) -> None:
    """Lines that end early, deals without betting, payoffs of every kind: as hand by hand."""
    rules = RandomCards(seed, cards=6, width=1, rounds=2, public=1)
    cards = Solver(compile_game(rules, cut=1), CFR_PLUS(floor=0.01))
    assert depth(cards.game.chunks) == 2
    reference = ReferenceCFR(as_game(HandByHand(rules)), **floored(VARIANTS["cfr+"], 0.01)[1])
    assert_equal(cards, reference, EARLY_MARKS[:2])


def three_deals(**options: Any) -> Any:
    """A game of cards whose three deals are cut."""
    return compile_game(EveryRound(5, **CARDS["one card, three deals"]), cut=1, **options)


@pytest.mark.full
def test_any_number_of_threads_gives_the_same_bits() -> None:
    one, three = Solver(three_deals(), "cfr+"), Solver(three_deals(), "cfr+", threads=3)
    one.iterate(7)
    three.iterate(7)
    assert one.evaluate() == three.evaluate()
    assert bits(three.state) == bits(one.state)


def test_values_at_every_part() -> None:
    """Strategies, reaches, values and best values of each chunk as in the game in one piece."""
    game = three_deals(symmetry=False)
    flat = game.flat()
    policy = solve(game, "cfr+", iters=5).policy
    numbers = numbers_of(game, flat)
    found, expected = profile_of(policy), profile_of(laid_out(policy, flat))
    for infoset in range(0, flat.n_infosets, 7):
        own = np.arange(flat.n_sequences)[flat.sequences(infoset)]
        for here, there in zip(found.at(numbers[own]), expected.at(own), strict=True):
            np.testing.assert_allclose(here, there, rtol=0, atol=TOLERANCE)


def test_a_share_has_whole_branches() -> None:
    form = three_deals().chunks
    ups: list[int] = []
    for begin, end in divide(form, 4):
        share = share_of(form, begin, end)
        assert form.parent_part[begin] == 0
        needed = np.concatenate(share.down)
        for local, c in enumerate(range(begin, end)):
            assert share.form.parent_part[local] == max(form.parent_part[c] - begin, 0)
            for player in range(2):
                there = share.form.entries(local, player)
                if form.parent_part[c] == 0:
                    there = needed[there]
                np.testing.assert_array_equal(there, form.entries(c, player))
        ups += [*share.up[0].tolist(), *share.up[1].tolist()]
    assert sorted(ups) == list(range(form.n_entries))


def test_the_way_to_a_chunk() -> None:
    """Down to it, then through it and all below it; the visits of other chunks are left out."""
    form = compile_game("leduc(ranks=2)", cut=(1, 2, 4)).chunks
    for chunk in range(form.n_chunks):
        one = visits_to(form, chunk)
        above = [chunk + 1]
        while above[0]:
            above.insert(0, int(form.parent_part[above[0] - 1]))
        visit = one.pass_order.tolist()
        assert visit[: len(above)] == above
        assert visit[-1] == ~0
        below = [c for c in range(form.n_chunks) if _is_below(form, c, chunk)]
        assert [part - 1 for part in visit[len(above) :] if part >= 0] == below
        waiting = {int(part) - 1 for part in form.parent_part} - {-1}
        ups = [~part - 1 for part in visit[:-1] if part < 0]
        assert sorted(ups) == sorted(waiting & {chunk, *below})


def _is_below(form: ChunkedForm, chunk: int, other: int) -> bool:
    """Whether a chunk is below another."""
    while form.parent_part[chunk]:
        chunk = int(form.parent_part[chunk]) - 1
        if chunk == other:
            return True
    return False


def test_value_bounds_exceed_those_of_the_game_that_is_cut_once() -> None:
    """The bounds of the trunk's values do not depend on where the game is cut further down."""
    once, twice = (game_bounds(compile_game("leduc", cut=cut).chunks) for cut in (2, (2, 4)))
    np.testing.assert_array_equal(once.bucket[0, :6], twice.bucket[0, :6])
    assert twice.entry.min() > 0


def test_files_say_where_a_game_is_cut(tmp_path: Any) -> None:
    for number, (spec, cut) in enumerate((("leduc", (2, 4)), ("rhode_island", 1))):
        game = compile_game(spec, cut=cut)
        again = load_game(save_game(game, tmp_path / f"{number}.npz"))
        assert again.digest == game.digest != compile_game(spec, cut=2).digest
        assert again.recipe == game.recipe


@pytest.mark.parametrize(
    ("spec", "cut", "message"),
    [
        ("kuhn", [" raise"], "kuhn has no public node ' raise' to cut at"),
        ("kuhn", -1, "cut must be"),
        (
            "goofspiel(cards=3)",
            1,
            r"cannot cut goofspiel.*: cut= needs private hands and a public tree",
        ),
        ("leduc", (4, 2), "public steps from 0 that ascend"),
        ("leduc", (2, 2), "public steps from 0 that ascend"),
        ("rhode_island", 9, "must be the number of a deal, 1 to"),
        ("rhode_island", 0, "must be the number of a deal, 1 to"),
        ("rhode_island", ("call",), "is cut where cards are dealt"),
    ],
)
def test_wrong_places_to_cut(spec: str, cut: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_game(spec, cut=cut)


def test_cfr_d_takes_games_that_are_cut_once() -> None:
    with pytest.raises(ValueError, match="compile it with one cut, cut=True"):
        solve(compile_game("leduc", cut=(2, 4)), "cfr-d", iters=1)
