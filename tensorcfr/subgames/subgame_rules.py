"""Subgames as rules: a part of the public tree of a compiled game, with other weights of the
deals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, OneOf, brief, checked
from ..compilers import compile_game
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled
from ..model.policy import Policy
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .beliefs import Belief
from .copied_strategies import ENTRY, check_merges_nothing, copy_by_label
from .entrance import Entry, TreeEntrance
from .roots import PLAYERS, At, Roots, find_roots

POLICY = Kind((Policy,), "a Policy")
HandWeights = np.ndarray | Sequence[float] | Mapping[str, float]
"""Weights of a player's hands, in the order of the hands or by name; or one such row for each of
several public nodes."""


class DrawNode(NamedTuple):
    """Public state right after the deal, at which chance draws one of the public nodes."""


class SubgameRules(PublicTreeGame):
    """The game below some public nodes, as rules.

    The hands are dealt in proportion to the given weights; chance then draws one of the public
    nodes. The labels of infosets are those of the whole game.

    Args:
        roots: The public nodes.
        weights: float64 (nodes, hands of player 0, hands of player 1): weights of the deals, not
            all 0.
    """

    def __init__(self, roots: Roots, weights: np.ndarray) -> None:
        self.roots, self.nodes, self.hands = roots, roots.nodes, roots.nodes.hands
        self.weights = weights
        total = weights.sum(axis=0)
        self.prior = total / float(total.sum())
        # Given the hands, chance draws a node in proportion to its weight.
        with np.errstate(divide="ignore", invalid="ignore"):
            self.drawn = np.where(total > 0, weights / total, 0.0)
        self.constant = sum(roots.game.utility_sums) / 2
        if not self.nodes.joins_labels:
            # These labels are not joined from hand and public label: look them up in the game.
            self._node_of: dict[str, int] = {}
            self.label = self._whole_label  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        """Name of the whole game, and the public nodes."""
        return f"{self.roots.game.name} at {', '.join(self.roots.names)}"

    def root(self) -> Any:
        """Return the draw of a public node, or the state after it if there is only one."""
        return DrawNode() if len(self.roots.roots) > 1 else self.roots.roots[0]

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """Return a node of the whole game's public tree, or the draw of a public node."""
        if isinstance(state, DrawNode):
            return Chance(dict(zip(self.roots.names, self.drawn, strict=True)))
        nodes, player = self.nodes, self.nodes.player(state)
        if player == TERMINAL:
            return Payoff(*nodes.payoff(state))
        steps = [step.label for step in nodes.children(state)]
        if player == CHANCE:
            return Chance(dict(zip(steps, nodes.chances(state), strict=True)))
        label = nodes.label(state)
        if not nodes.joins_labels:
            self._node_of[label] = state
        return Decision(player, label, tuple(steps))

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after a step."""
        if isinstance(state, DrawNode):
            return self.roots.roots[self.roots.names.index(action)]
        return next(step.node for step in self.nodes.children(state) if step.label == action)

    def matrix(self, key: Any) -> np.ndarray:
        """Return a matrix of the whole game."""
        return self.nodes.matrix(key)

    def _whole_label(self, player: int, hand: Hashable, public: str) -> str:
        node = self._node_of.get(public)
        if node is None:  # An entry.
            return f"{hand}{public}"
        return self.nodes.labels(node, [self.hands[player].index(str(hand))])[0]


def with_entrance(part: SubgameRules, player: int, alternative: np.ndarray) -> TreeEntrance:
    """Return a subgame before which a player decides: follow, or get the alternative value.

    Args:
        part: The subgame.
        player: The player.
        alternative: float64 (nodes, hands): the alternative values, in the unit of the game.
    """
    entries = {}
    for root, name, values in zip(part.roots.roots, part.roots.names, alternative, strict=True):
        payoff = np.nan_to_num(values)
        other_payoff = part.constant - payoff
        payoffs = np.stack([payoff, other_payoff] if player == 0 else [other_payoff, payoff])
        entries[root] = Entry(f"{ENTRY}{name} as {player}", payoffs)
    return TreeEntrance(part, player, entries)


@checked()
def subgame(
    game: Compiled,
    public_nodes: At | Belief,
    *,
    ranges: Belief | Sequence[HandWeights] | None = None,
    entry_values: Sequence[HandWeights | None] | None = None,
) -> FlatGame:
    """Make the game below one or several public nodes a game of its own.

    Hands are dealt in proportion to the chance of the deal times both players' ranges; chance then
    draws one of several public nodes. Infosets keep their labels, so that :func:`put_back` can put
    strategies of the subgame into a policy of the whole game. It is an ordinary compiled game: it
    can be solved, saved and drawn. Its values are the expected values of the whole game, given that
    the public node is reached.

    >>> from tensorcfr import compile_game, solve
    >>> game = compile_game("kuhn")
    >>> after_bet = subgame(game, "bet", ranges=({"J": 1 / 3, "Q": 0, "K": 1}, (1, 1, 1)))
    >>> list(after_bet.infoset_labels)
    ['Jb', 'Qb', 'Kb']

    Args:
        game: A game of private hands between two players.
        public_nodes: Public nodes by name, as for :func:`belief`; or a belief, whose ranges are
            used.
        ranges: For each player the weights of the hands, (hands,), or (nodes, hands) for several
            public nodes, or by name; or a belief at the same nodes. By default 1 for all hands.
        entry_values: For one player the values of the hands, in the same shapes, and None for the
            other. The player then decides at an entry before the subgame begins: follow, or
            terminate and get the value, in the game's own unit (the gadget of Burch, Johanson and
            Bowling, 2014).

    Raises:
        ValueError: There is no such public node; ranges or values have the wrong shape or are not
            finite; the ranges leave no deal.
    """
    if isinstance(public_nodes, Belief):
        _check_game(public_nodes, game, "public_nodes")
        roots, ranges = public_nodes.roots, public_nodes if ranges is None else ranges
    else:
        roots = find_roots(game, public_nodes)
    if isinstance(ranges, Belief):
        _check_game(ranges, game, "ranges")
        if ranges.roots.roots != roots.roots:
            raise ValueError(
                f"ranges are at {', '.join(ranges.at)}, not at {', '.join(roots.names)}"
            )
        weights = ranges.weights
    else:
        ones = [np.ones((len(roots.roots), len(hands))) for hands in roots.nodes.hands]
        hand_weights = ones if ranges is None else ranges
        first, second = (
            _by_hand(roots, player, numbers, "ranges", minimum=0.0)
            for player, numbers in enumerate(_pair(hand_weights, "ranges"))
        )
        weights = Belief(roots, (first, second)).weights
    alternatives = _pair((None, None) if entry_values is None else entry_values, "entry_values")
    deciders = [player for player, numbers in enumerate(alternatives) if numbers is not None]
    if len(deciders) == 2:
        raise ValueError("entry_values must be None for at least one player")
    values = [_by_hand(roots, p, alternatives[p], "entry_values") for p in deciders]
    if deciders:
        check_constant_sum(game)
    if not weights.sum() > 0:
        raise ValueError(f"the ranges leave no deal at {', '.join(roots.names)} of {game.name}")
    part = SubgameRules(roots, weights)
    return compile_part(with_entrance(part, deciders[0], values[0]) if deciders else part)


def compile_part(part: PublicTreeGame, *, symmetry: bool = True) -> FlatGame:
    """Compile a part hand by hand, so that its strategies can be copied infoset by infoset."""
    return compile_game(part, cut=False, symmetry=symmetry).flat()


def check_constant_sum(game: CompiledGame) -> None:
    """Check that the utilities have a constant sum.

    Raises:
        ValueError: The sum of the utilities differs between terminals.
    """
    if not game.constant_sum:
        smallest, largest = game.utility_sums
        raise ValueError(
            f"safe resolving is for zero-sum games, and the utilities of {game.name} sum to "
            f"{smallest:g} at one terminal and to {largest:g} at another"
        )


def _check_game(belief: Belief, game: CompiledGame, name: str) -> None:
    if belief.game is not game and belief.game.digest != game.digest:
        raise ValueError(f"{name} is a belief of {belief.game.name}, not of {game.name}")


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    rows = isinstance(value, Sequence) and not isinstance(value, (str, bytes, range))
    if not (rows or (isinstance(value, np.ndarray) and value.ndim)) or len(value) != 2:
        raise ValueError(f"{name} must be two rows, one for each player, not {brief(value)}")
    return value[0], value[1]


def _by_hand(
    roots: Roots, player: int, value: Any, name: str, minimum: float | None = None
) -> np.ndarray:
    """Check numbers by public node and hand, and return them as float64 (nodes, hands).

    Raises:
        ValueError: They have the wrong type, shape or range, or name an unknown hand.
    """
    hands = roots.nodes.hands[player]
    if isinstance(value, Mapping):
        for hand in value:
            if hand not in hands:
                raise ValueError(
                    f"{name}: player {player} has no hand {hand!r}: {', '.join(hands)}"
                )
        value = [value.get(hand, 0.0) for hand in hands]
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} of player {player} must be numbers by hand, not {brief(value)}"
        ) from None
    shape = (len(roots.roots), len(hands))
    if numbers.shape != shape and not (numbers.shape == shape[1:] and shape[0] == 1):
        expected_shape = shape[1:] if shape[0] == 1 else shape
        raise ValueError(
            f"{name} of player {player} have the shape {numbers.shape}, and {roots.game.name} has "
            f"{shape[1]} hands at {shape[0]} public nodes: {expected_shape}"
        )
    wrong = (
        ~np.isfinite(numbers) if minimum is None else ~((numbers >= minimum) & (numbers < np.inf))
    )
    if wrong.any():
        raise ValueError(f"{name} of player {player} hold {float(numbers[wrong][0])!r}")
    return numbers.reshape(shape)


@checked()
def put_back(
    policy: Annotated[Policy, POLICY],
    subgame_policy: Annotated[Policy, POLICY],
    *,
    player: Annotated[int | None, OneOf(PLAYERS)] = None,
) -> Policy:
    """Put the strategies of a subgame into a policy of the whole game.

    Strategies at entries of gadgets are left out. Infosets that the ranges left out of the subgame
    keep their strategies.

    Args:
        policy: A policy of the whole game.
        subgame_policy: A policy of the subgame.
        player: The player whose strategies are put back; by default both players.

    Returns:
        A new policy of the whole game.

    Raises:
        ValueError: An infoset of the subgame is not in the whole game, or has other actions; names
            it. Or the whole game merges hands.
    """
    check_merges_nothing(policy.game)
    probabilities = np.array(policy.probabilities)
    for owner in PLAYERS if player is None else (player,):
        copy_by_label(subgame_policy, policy.game, probabilities, owner)
    return Policy(policy.game, probabilities)
