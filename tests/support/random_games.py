"""Small random games, for the tests that must hold for every game.

:func:`random_game` and :func:`random_public_tree_game` build one from a seed and a few shape
parameters; :func:`games` and :func:`public_tree_games` are hypothesis strategies over them.

Every choice is drawn from a generator keyed by the seed and by *what* is chosen ("payoffs of this
history"), never from one running stream.  A smaller ``max_histories`` therefore gives the same
game cut short, which is what hypothesis needs to shrink a failure to something readable.

Perfect recall holds by design: a player's label is the player's own *view*, the sequence of own
actions and of signals received, so that a label spells out all that its player ever did and knew.
Histories merge where signals hide the difference.  Nothing else is tame about these games:
players skip turns or never act, act several times in a row, nature acts in between, ends come
early, an infoset can hold histories of different depths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tensorcfr.rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal

ACTIONS = "abcd"
"""The actions of an infoset with k actions are the first k of these."""


def keyed(*key: Hashable) -> Random:
    """A generator of its own for whatever ``key`` names; the same on every machine."""
    return Random(repr(key))


def action_count(rng: Random, most: int) -> int:
    """1 to ``most``: a single action now and then, otherwise evenly."""
    return 1 if most == 1 or rng.random() < 0.1 else rng.randint(2, most)


def payoffs(rng: Random, n_players: int, *, zero_sum: bool, integers: bool) -> list[float]:
    """One number per player: generic, or small integers that make ties; maybe summing to 0."""

    def one() -> float:
        return float(rng.randint(-2, 2)) if integers else rng.uniform(-2, 2)

    free = [one() for _ in range(n_players - 1)]
    return [*free, -sum(free) if zero_sum else one()]


# ------------------------------------------------------------------------- games with histories


class RandomGame(Game):
    """A game that is written out already; a state is the history.  See :func:`random_game`."""

    def __init__(
        self,
        said: Mapping[tuple[Hashable, ...], Decision | Chance | Terminal],
        *,
        n_players: int,
        call: str,
    ) -> None:
        self.said = said
        self.n_players = n_players
        self.call = call

    def node(self, state: tuple[Hashable, ...]) -> Decision | Chance | Terminal:
        return self.said[state]

    def __repr__(self) -> str:
        return self.call


def random_game(
    seed: int,
    *,
    n_players: int = 2,
    zero_sum: bool = False,
    integer_payoffs: bool = False,
    max_histories: int = 200,
    max_depth: int = 8,
    max_actions: int = 4,
    chance: float = 0.2,
    stop: float = 0.1,
    secrecy: float = 0.6,
) -> RandomGame:
    """The game of this seed and shape, with perfect recall and at most ``max_histories`` nodes.

    ``max_histories`` counts decision nodes, chance nodes and terminals.  ``chance`` is the
    probability that nature acts at a depth, ``stop`` that a history below the first two levels
    ends early, ``secrecy`` that a bystander learns nothing of the moves at a depth.
    """
    call = (
        f"random_game({seed}, {n_players=}, {zero_sum=}, {integer_payoffs=}, {max_histories=}, "
        f"{max_depth=}, {max_actions=}, {chance=}, {stop=}, {secrecy=})"
    )
    players = range(n_players)
    said: dict[tuple[Hashable, ...], Decision | Chance | Terminal] = {}

    def end(history: tuple[Hashable, ...]) -> Terminal:
        rng = keyed(seed, "payoffs", history)
        return Terminal(payoffs(rng, n_players, zero_sum=zero_sum, integers=integer_payoffs))

    def mover(history: tuple[Hashable, ...]) -> int | None:
        """Who acts, None for nature: mostly a matter of depth, so that views meet often."""
        unusual = keyed(seed, "unusual", history).random() < 0.1
        rng = keyed(seed, "mover", history if unusual else len(history))
        return None if rng.random() < chance else rng.randrange(n_players)

    def signal(depth: int, observer: int, index: int) -> str:
        """What a bystander sees of the move with this index."""
        rng = keyed(seed, "signal", depth, observer)
        if rng.random() < secrecy:
            return ""
        return rng.choice((".", f"~{index % 2}", f"={index}"))

    def move(history: tuple[Hashable, ...], views: list[str]) -> Decision | Chance:
        player = mover(history)
        if player is None:
            rng = keyed(seed, "chance", history)
            weights = [rng.uniform(0.1, 1) for _ in range(action_count(rng, max_actions))]
            return Chance({index: weight / sum(weights) for index, weight in enumerate(weights)})
        label = f"{player}|{views[player]}"
        count = action_count(keyed(seed, "actions", label), max_actions)
        return Decision(player, label, tuple(ACTIONS[:count]))

    frontier: deque[tuple[tuple[Hashable, ...], list[str]]] = deque([((), [""] * n_players)])
    histories = 1
    while frontier:
        history, views = frontier.popleft()
        depth = len(history)
        here = move(history, views)
        moves = tuple(here.actions if isinstance(here, Decision) else here.outcomes)
        stops = depth >= 2 and keyed(seed, "stop", history).random() < stop
        if stops or depth == max_depth or histories + len(moves) > max_histories:
            said[history] = end(history)
            continue
        said[history] = here
        histories += len(moves)
        acting = here.player if isinstance(here, Decision) else None
        for index, action in enumerate(moves):
            seen = [
                str(action) if player == acting else signal(depth, player, index)
                for player in players
            ]
            after = [view + new for view, new in zip(views, seen, strict=True)]
            frontier.append(((*history, action), after))
    return RandomGame(said, n_players=n_players, call=call)


def games(**fixed: Any) -> st.SearchStrategy[RandomGame]:
    """Random games in which somebody acts.

    ``fixed`` pins arguments of :func:`random_game`, or draws them from another strategy:
    ``games(n_players=2, zero_sum=True, max_histories=st.integers(5, 50))``.
    """
    shape: dict[str, Any] = {
        "n_players": st.sampled_from((2, 3)),
        "zero_sum": st.booleans(),
        "max_histories": st.sampled_from((8, 25, 60, 120, 240, 400)),
        "max_depth": st.sampled_from((3, 5, 8, 14)),
        "max_actions": st.sampled_from((2, 3, 4)),
        "chance": st.sampled_from((0.0, 0.2, 0.4)),
        "stop": st.sampled_from((0.0, 0.1, 0.3)),
        "secrecy": st.sampled_from((0.3, 0.6, 0.9)),
    }
    return _build(random_game, shape, fixed)


# ------------------------------------------------------------------- games with a public tree


class RandomPublicTreeGame(PublicTreeGame):
    """A public tree that is written out already.  See :func:`random_public_tree_game`."""

    def __init__(
        self,
        prior: np.ndarray,
        said: Mapping[tuple[Hashable, ...], Decision | Chance | Payoff],
        matrices: Mapping[Hashable, np.ndarray],
        *,
        call: str,
    ) -> None:
        self.n_players = prior.ndim
        self.prior = prior
        self.hands = [tuple("TJQKABCDEF"[:count]) for count in prior.shape]
        self.said = said
        self.matrices = matrices
        self.call = call

    def node(self, state: tuple[Hashable, ...]) -> Decision | Chance | Payoff:
        return self.said[state]

    def matrix(self, key: Hashable) -> np.ndarray:
        return self.matrices[key]

    def __repr__(self) -> str:
        return self.call


def random_public_tree_game(
    seed: int,
    *,
    n_players: int = 2,
    zero_sum: bool = False,
    max_hands: int = 3,
    max_nodes: int = 20,
    max_depth: int = 6,
    max_actions: int = 3,
    chance: float = 0.2,
    stop: float = 0.2,
    matrices: Sequence[str] = ("generic",),
    least_depth: int = 2,
) -> RandomPublicTreeGame:
    """The game of this seed and shape, with at most ``max_nodes`` public nodes.

    ``matrices`` are the kinds of payoff matrices to choose from, see :func:`_random_matrix`; ends
    are not above ``least_depth``.

    Each player has 1 to ``max_hands`` hands (5 at most).  About a quarter of the deals has prior
    0, yet every hand can be dealt.  Public chance may depend on nothing, on one player's hand or
    on the whole deal (then with zeros); it sums to 1 for every deal that can occur, and every
    outcome occurs with some deal, though not with every hand.  At deals that cannot occur nothing
    is promised: probabilities do not sum to 1 and matrices hold ``NEVER``, so whoever reads these
    is found out.
    """
    call = (
        f"random_public_tree_game({seed}, {n_players=}, {zero_sum=}, {max_hands=}, {max_nodes=}, "
        f"{max_depth=}, {max_actions=}, {chance=}, {stop=}, {matrices=}, {least_depth=})"
    )
    prior = _random_prior(keyed(seed, "prior"), n_players, max_hands)
    said: dict[tuple[Hashable, ...], Decision | Chance | Payoff] = {}

    def move(state: tuple[Hashable, ...]) -> Decision | Chance:
        rng = keyed(seed, "move", state)
        if rng.random() < chance:
            return Chance(_random_public_chance(rng, prior, action_count(rng, max_actions)))
        player = rng.randrange(n_players) if rng.random() < 0.3 else len(state) % n_players
        count = action_count(rng, max_actions)
        return Decision(player, "".join(map(str, ("/", *state))), tuple(ACTIONS[:count]))

    frontier: deque[tuple[Hashable, ...]] = deque([()])
    nodes = 1
    while frontier:
        state = frontier.popleft()
        depth = len(state)
        here = move(state)
        moves = tuple(here.actions if isinstance(here, Decision) else here.outcomes)
        rng = keyed(seed, "end", state)
        stops = depth >= least_depth and rng.random() < stop
        if stops or depth == max_depth or nodes + len(moves) > max_nodes:
            said[state] = Payoff(rng.uniform(-2, 2), rng.choice(MATRICES))
            continue
        said[state] = here
        nodes += len(moves)
        frontier.extend((*state, action) for action in moves)

    tables: dict[Hashable, np.ndarray] = {
        key: _random_matrix(
            keyed(seed, "matrix", key),
            prior,
            zero_sum=zero_sum,
            kind=keyed(seed, "kind", key).choice(matrices),
        )
        for key in MATRICES
    }
    return RandomPublicTreeGame(prior, said, tables, call=call)


MATRICES = ("fold", "call", "showdown")
"""Keys of the payoff matrices; many ends share the few."""

NEVER = 1e3
"""Stands in matrices at deals that cannot occur, far outside of the payoffs that can."""


def _random_prior(rng: Random, n_players: int, max_hands: int) -> np.ndarray:
    """Uneven joint probabilities, a quarter zeros; no hand without any deal."""
    shape = [rng.randint(1, max_hands) for _ in range(n_players)]
    weights = np.zeros(shape)
    for deal in np.ndindex(*shape):
        weights[deal] = rng.uniform(0.1, 1) if rng.random() < 0.75 else 0.0
    for player in range(n_players):
        for hand in range(shape[player]):
            of_hand = np.moveaxis(weights, player, 0)[hand]
            if not of_hand.any():
                of_hand[tuple(rng.randrange(size) for size in of_hand.shape)] = rng.uniform(0.1, 1)
    weights /= weights.sum()
    return weights


def _random_public_chance(rng: Random, prior: np.ndarray, count: int) -> dict[Hashable, Any]:
    """Outcome to probability: a number, or an array along one player's hands or over all deals."""
    depends_on = rng.choice(("nothing", "one hand", "the deal"))
    shape = [1] * prior.ndim
    if depends_on == "one hand":
        player = rng.randrange(prior.ndim)
        shape[player] = prior.shape[player]
    if depends_on == "the deal":
        shape = list(prior.shape)
    weights = np.array(
        [[rng.uniform(0.1, 1) for _ in range(int(np.prod(shape)))] for _ in range(count)]
    ).reshape(count, *shape)
    if depends_on == "nothing":
        return {index: float(p) for index, p in enumerate((weights / weights.sum(axis=0)).flat)}
    if depends_on == "one hand":
        return dict(enumerate(weights / weights.sum(axis=0)))
    impossible = np.array([rng.random() < 0.2 for _ in weights.flat]).reshape(weights.shape)
    impossible &= ~impossible.all(axis=0)
    for outcome in impossible:
        outcome &= (prior > 0).any(where=~outcome)
    weights[impossible] = 0.0
    return dict(enumerate(np.where(prior > 0, weights / weights.sum(axis=0), weights)))


def _random_matrix(
    rng: Random, prior: np.ndarray, *, zero_sum: bool, kind: str = "generic"
) -> np.ndarray:
    """Every player's utility at every deal, shape (n_players, *prior.shape).

    Kinds: ``generic``; ``classes``, which tells only a few classes of hands apart; ``multiples``,
    the same but for a factor per hand; ``showdown``, the stronger hand wins and equals share;
    ``holes``, half of it zeros; ``nothing``, all of it.
    """
    matrix = np.full((prior.ndim, *prior.shape), NEVER)
    if kind == "generic":
        for deal in np.ndindex(prior.shape):
            utilities = payoffs(rng, prior.ndim, zero_sum=zero_sum, integers=False)
            if prior[deal] > 0:
                matrix[(slice(None), *deal)] = utilities
        return matrix
    own = [_matrix_of_kind(rng, prior.shape, kind) for _ in range(prior.ndim)]
    if zero_sum:
        own[-1] = -sum(own[:-1], start=np.zeros(prior.shape))
    return np.where(prior > 0, np.array(own), matrix)


def _matrix_of_kind(rng: Random, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """One player's utilities; see :func:`_random_matrix`."""
    if kind == "nothing":
        return np.zeros(shape)
    if kind == "holes":
        return np.array(
            [rng.uniform(-2, 2) if rng.random() < 0.5 else 0.0 for _ in range(int(np.prod(shape)))]
        ).reshape(shape)
    of_hand = [np.array([rng.randrange(3) for _ in range(hands)]) for hands in shape]
    at = np.meshgrid(*of_hand, indexing="ij")
    if kind == "showdown":
        return rng.uniform(0.5, 2) * np.sign(at[0] - at[-1])
    few = np.array([rng.uniform(-2, 2) for _ in range(3 ** len(shape))]).reshape([3] * len(shape))
    found = few[tuple(at)]
    if kind == "multiples":
        for axis, hands in enumerate(shape):
            factor = np.array([rng.choice((-1.5, 0.25, 1.0, 1.0, 3.0)) for _ in range(hands)])
            found = found * factor.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return found


MATRIX_KINDS = ("generic", "classes", "multiples", "showdown", "holes", "nothing")


def repeated(
    game: RandomPublicTreeGame, times: int, by: int | None, *, alike: bool = False, seed: int = 0
) -> RandomPublicTreeGame:
    """A first move with ``times`` choices, by a player or by chance, and the game after each.

    Terminals keep their matrices and get coefficients of their own (with ``alike``, they keep
    theirs too): copies of a terminal are what the payoff operator finds blocks of.
    """
    said: dict[tuple[Hashable, ...], Decision | Chance | Payoff] = {}
    steps = [f"{'cxyz'[0 if by is None else by + 1]}{index}" for index in range(times)]
    if by is None:
        said[()] = Chance(dict.fromkeys(steps, 1 / times))
    else:
        said[()] = Decision(by, "/", steps)
    for step in steps:
        for state, node in game.said.items():
            after = (step, *state)
            if isinstance(node, Decision):
                node = node._replace(infoset="/" + "/".join(map(str, after)))
            elif isinstance(node, Payoff) and not alike:
                node = node._replace(coefficient=keyed(seed, after).uniform(-2, 2))
            said[after] = node
    call = f"repeated({game.call}, {times}, {by}, {alike=}, {seed=})"
    return RandomPublicTreeGame(game.prior, said, game.matrices, call=call)


def with_twin(game: RandomPublicTreeGame, player: int, hand: int) -> RandomPublicTreeGame:
    """The game with a hand dealt half as often, and another one just like it."""

    def twice(table: Any, axis: int) -> Any:
        table = np.asarray(table)
        if table.ndim == 0 or table.shape[axis] == 1 < game.prior.shape[player]:
            return table
        return np.concatenate([table, table.take([hand], axis)], axis)

    half = np.ones(game.prior.shape[player])
    half[hand] = 0.5
    prior = game.prior * half.reshape([-1 if i == player else 1 for i in range(game.prior.ndim)])
    said = {
        state: Chance({outcome: twice(p, player) for outcome, p in node.outcomes.items()})
        if isinstance(node, Chance)
        else node
        for state, node in game.said.items()
    }
    matrices = {key: twice(matrix, player + 1) for key, matrix in game.matrices.items()}
    call = f"with_twin({game.call}, {player}, {hand})"
    return RandomPublicTreeGame(twice(prior, player), said, matrices, call=call)


def with_equal_outcomes(game: RandomPublicTreeGame, times: int = 2) -> RandomPublicTreeGame:
    """The game with every public chance outcome as so many, all alike; copies of outcomes are
    named by the first and a prime for each."""
    said: dict[tuple[Hashable, ...], Decision | Chance | Payoff] = {}

    def copy(state: tuple[Hashable, ...], after: tuple[Hashable, ...]) -> None:
        node = game.said[state]
        if isinstance(node, Chance):
            shares: dict[Hashable, Any] = {}
            for outcome, p in node.outcomes.items():
                for primes in range(times):
                    shares[f"{outcome}{primes * chr(39)}"] = np.asarray(p) / times
                    copy((*state, outcome), (*after, f"{outcome}{primes * chr(39)}"))
            node = Chance(shares)
        elif isinstance(node, Decision):
            node = node._replace(infoset="/" + "/".join(map(str, after)))
            for action in node.actions:
                copy((*state, action), (*after, action))
        said[after] = node

    copy((), ())
    call = f"with_equal_outcomes({game.call}, {times})"
    return RandomPublicTreeGame(game.prior, said, game.matrices, call=call)


class Veiled(Game):
    """A public-tree game as histories of which the players do not see all.

    With probability ``blur`` each, a player takes one hand for another until he has acted, and a
    step of others goes unseen.  What is left is a game with perfect recall that looks much like
    private hands and a public tree, and often is none.
    """

    def __init__(self, game: RandomPublicTreeGame, seed: int, blur: float) -> None:
        self.game, self.seed, self.blur = game, seed, blur
        self.n_players = game.n_players

    def _hidden(self, *what: Hashable) -> bool:
        return keyed(self.seed, "veil", *what).random() < self.blur

    def root(self) -> Any:
        return (), (), ("",) * self.n_players

    def node(self, state: Any) -> Decision | Chance | Terminal:
        deal, public, views = state
        if len(deal) < self.n_players:
            given = [float(np.sum(of_hand)) for of_hand in self.game.prior[deal]]
            return Chance({hand: p / sum(given) for hand, p in enumerate(given) if p > 0})
        node = self.game.node(public)
        if isinstance(node, Payoff):
            return Terminal(
                [node.coefficient * float(own[deal]) for own in self.game.matrix(node.matrix)]
            )
        if isinstance(node, Chance):
            shape = self.game.prior.shape
            given = {o: float(np.broadcast_to(p, shape)[deal]) for o, p in node.outcomes.items()}
            return Chance({outcome: p for outcome, p in given.items() if p > 0})
        view = views[node.player] + f"?{len(node.actions)}"
        return Decision(node.player, f"{node.player}|{view}", node.actions)

    def next(self, state: Any, action: Any) -> Any:
        deal, public, views = state
        if len(deal) < self.n_players:
            player = len(deal)
            seen = 0 if self._hidden("hand", player, action) else action
            view = f"{seen}"
            return (*deal, action), public, (*views[:player], view, *views[player + 1 :])
        node = self.game.node(public)
        after = []
        for player, view in enumerate(views):
            if isinstance(node, Decision) and node.player == player:
                # Whoever has acted looks at his hand again.
                after.append(f"{view}?{len(node.actions)}{action}[{deal[player]}]")
            elif self._hidden("step", len(public), player):
                after.append(view)
            else:
                after.append(f"{view}.{action}")
        return deal, (*public, action), tuple(after)

    def __repr__(self) -> str:
        return f"Veiled({self.game.call}, {self.seed}, {self.blur})"


def public_tree_games(**fixed: Any) -> st.SearchStrategy[RandomPublicTreeGame]:
    """Random public-tree games in which somebody acts; ``fixed`` as in :func:`games`."""
    shape: dict[str, Any] = {
        "n_players": st.sampled_from((2, 2, 3)),
        "zero_sum": st.booleans(),
        "max_hands": st.sampled_from((2, 3, 4)),
        "max_nodes": st.sampled_from((6, 10, 16, 24)),
        "max_depth": st.sampled_from((3, 5, 8)),
        "max_actions": st.sampled_from((2, 3)),
        "chance": st.sampled_from((0.0, 0.2, 0.4)),
        "stop": st.sampled_from((0.0, 0.2)),
        "matrices": st.sampled_from((("generic",), MATRIX_KINDS)),
        "least_depth": st.sampled_from((2, 2, 1)),
    }
    return _build(random_public_tree_game, shape, fixed)


@st.composite
def games_with_copies(draw: st.DrawFn, **fixed: Any) -> RandomPublicTreeGame:
    """Random public-tree games of two players in which few terminals come many times over."""
    small = {"n_players": 2, "max_hands": st.sampled_from((1, 3, 5)), "max_depth": 4}
    game = draw(public_tree_games(**({**small, "max_nodes": st.sampled_from((4, 8, 12))} | fixed)))
    for _ in range(draw(st.sampled_from((1, 1, 2)))):
        times = draw(st.sampled_from((2, 3, 5)))
        game = repeated(
            game, times, draw(st.sampled_from((0, 1, None))), seed=draw(st.integers(0, 9))
        )
    return game


def _build(make: Any, shape: dict[str, Any], fixed: dict[str, Any]) -> st.SearchStrategy[Any]:
    """``make(seed, **shape)`` over all seeds; what ``fixed`` says goes before ``shape``.

    Sizes are lists to pick from, not ranges: hypothesis draws the low end of a range so often
    that most games would be too small for infosets to hold two histories.
    """
    drawn = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for name, value in (shape | fixed).items()
    }

    def somebody_acts(game: Any) -> bool:
        return any(isinstance(node, Decision) for node in game.said.values())

    return st.builds(make, st.integers(0, 2**32 - 1), **drawn).filter(somebody_acts)
