"""Subgames of games of cards: the game below a line is again a game of cards, with other ranges.

No array over pairs of hands is made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._util.memory_budget import budget
from ..compilers.cards.card_public_nodes import CardNodes
from ..compilers.cards.card_sums import odds_on, opponent_weight, read_deal, unfold, without
from ..compilers.cards.flat_cards import HandByHand
from ..compilers.compilation import Compilation
from ..compilers.derived_rules import Derived, forwards
from ..compilers.pipeline import compile_cards, lay_out_flat
from ..compilers.sizes.counted import check_memory
from ..errors import suggest
from ..model.arrays import CHANCE, TERMINAL, SequenceForm, frozen_arrays
from ..model.card_structure import DEAL, BettingTree
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.public_nodes import START
from ..payoff.card_payoffs import FOLD, LANES
from ..rules import CardGame, Deal, Decision, Fold, Runout, Showdown, SidePots
from .compiled_part import CompiledPart, Gadget, NamedNode, PartHands, Subgames
from .entrance import CardEntrance, Entry, TreeEntrance
from .roots import At, Steps, check_disjoint, names_of

ROUNDING = 1e-12
"""Share of a sum of weights below which a difference of such sums is treated as rounding error."""


class Line(NamedTuple):
    """Public node of the rules of a game of cards."""

    steps: tuple[str, ...]
    """Actions and dealt cards that lead there."""
    state: Any
    """State of the betting."""
    dealt: tuple[int, ...]
    """Cards that were dealt on the way."""


def follow(rules: CardGame, line: str | Sequence[str]) -> Line:
    """Return the public node at the end of a line, ``"check bet66 call 7s"``.

    Raises:
        ValueError: There is no such line; names the step.
    """
    state = rules.root()
    dealt: tuple[int, ...] = ()
    steps = tuple(line.split() if isinstance(line, str) else line)
    for k, step in enumerate(steps):
        node = rules.node(state)
        where = f"after {' '.join(steps[:k])!r}" if k else "at the start"
        if isinstance(node, Deal):
            cards = read_deal(rules, step, node.cards)
            hidden = None if dealt else rules.boards
            is_free = cards is not None and {*cards} <= {*rules.free.tolist()} - {*dealt}
            if cards is None or not is_free or (hidden and cards not in hidden):
                raise ValueError(f"public_nodes: in {rules.name} {step!r} cannot be dealt {where}")
            state, dealt = rules.next(state, None), (*dealt, *cards)
            continue
        actions = {str(a): a for a in node.actions} if isinstance(node, Decision) else {}
        if step not in actions:
            hint = suggest(step, list(actions)) if actions else "the game is over there"
            raise ValueError(f"public_nodes: {rules.name} has no step {step!r} {where}; {hint}")
        state = rules.next(state, actions[step])
    return Line(steps, state, dealt)


@forwards("cards", "dead", "weights_vary", "strength", "rankings", "order_shares")
class CardPart(Derived, CardGame):
    """The game below a line, as rules.

    Hands that share a card with the board or have weight 0 are left out. At terminals each of two
    players first pays their ``charged`` amount; the rest is multiplied by ``scale``.

    Args:
        rules: The rules of the whole game.
        line: The line.
        weights: For each player float64 (hands of the whole game,): the weights of the hands.
        scale: Factor of the payoffs.
        charged: Amount that each player pays at terminals.
    """

    def __init__(
        self,
        rules: CardGame,
        line: Line,
        weights: Sequence[np.ndarray],
        scale: float = 1.0,
        charged: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(rules)
        self.line, self.scale, self.charged = line, scale, charged
        self.board = (*rules.board, *line.dealt)
        self.boards = None if line.dealt else rules.boards
        dealt = np.array(line.dealt, dtype=np.int64)
        self.part_hands: PartHands = tuple(
            np.flatnonzero((weight > 0) & without(hands, dealt))
            for hands, weight in zip(rules.hands, weights, strict=True)
        )
        """Hands that are left, for each player int64 (hands,), as numbers in the whole game."""
        self.hands = [
            hands[indices] for hands, indices in zip(rules.hands, self.part_hands, strict=True)
        ]
        self.weights = [
            weight[indices] for weight, indices in zip(weights, self.part_hands, strict=True)
        ]

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        """Return the weights of a player's hands on a board, float64 (hands,).

        They are the weights at the line, times the odds of the board compared with the line's
        board.
        """
        if not self.weights_vary:
            return self.weights[player]
        odds = odds_on(self.rules, player, board, self.board)
        return self.weights[player] * odds[self.part_hands[player]]

    @property
    def name(self) -> str:
        """Name of the whole game, and the line."""
        return f"{self.rules.name} after {' '.join(self.line.steps) or 'nothing'}"

    @property
    def betting_key(self) -> Hashable:
        """Key of the whole game's betting, with the line's state and the changes of payoffs."""
        whole = self.rules.betting_key
        return whole and (whole, self.line.state, self.scale, self.charged)

    def root(self) -> Any:
        """Return the state that the line leads to."""
        return self.line.state

    def node(self, state: Any) -> Decision | Deal | Fold | Showdown | SidePots | Runout:
        """Return a node of the whole game; payoffs are charged and scaled."""
        node: Decision | Deal | Fold | Showdown | SidePots | Runout = self.rules.node(state)
        # Only gadgets, which are for two players, change payoffs.
        if self.n_players > 2 or not isinstance(node, (Fold, Showdown, Runout)):
            return node
        (first_charge, second_charge), scale = self.charged, self.scale
        terminal: Any = node
        amounts = {name: n for name, n in node._asdict().items() if isinstance(n, tuple)}
        paid = {
            n: (scale * (first_amount - first_charge), scale * (second_amount - second_charge))
            for n, (first_amount, second_amount) in amounts.items()
        }
        payoff: Fold | Showdown | Runout = terminal._replace(**paid)
        return payoff

    def runouts(self, cards: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of runouts won and tied, as in the whole game."""
        won, tied = self.rules.runouts(cards)
        return won[np.ix_(*self.part_hands)], tied[np.ix_(*self.part_hands)]

    def hand_label(self, player: int, hand: int) -> str:
        """Return the label of a hand, as in the whole game."""
        return self.rules.hand_label(player, int(self.part_hands[player][hand]))

    def named_hands(self, player: int, text: str) -> np.ndarray:
        """Return the hands that a text names, as in the whole game."""
        return self.rules.named_hands(player, text)[self.part_hands[player]]


class CompiledCardPart(CompiledPart):
    """A subgame of a game of cards, compiled for the player whose strategy is solved again.

    Args:
        part: The subgame, as rules.
        player: The player.
        end: Payoff of both players if the opponent terminates at the entry; None for no entry.
    """

    game: ChunkedGame

    def __init__(self, part: CardPart, player: int, end: float | None = None) -> None:
        self.part, self.end = part, end or 0.0
        self.rules: CardGame = part
        if end is not None:
            self.rules = CardEntrance(part, 1 - player, {part.root(): Entry(None, (end, end))})
        game, all_hands = compile_part(self.rules), len(part.rules.hands[1 - player])
        super().__init__(game, part.part_hands, all_hands, player, entry=end is not None)

    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the gadget of :meth:`CompiledPart.resolve_gadget`; terminating pays by hand."""
        game, opponent, end = self.game, self.opponent, self.end
        paid = np.nan_to_num(alternative[self.part_hands[opponent]]) - end
        terminates = int(self.nodes.layout(0).numbers([0])[0, 1])
        form = _paid_by_hand(game, opponent, terminates, paid)
        payoffs = np.stack([end + paid, end - paid] if opponent == 0 else [end - paid, end + paid])

        def lay_out(limit: int | None) -> FlatGame:
            rules = HandByHand(self.part)
            check_memory(self.rules, game.name, limit)
            by_hand = TreeEntrance(rules, opponent, {rules.root(): Entry(None, payoffs)})
            return lay_out_flat(by_hand, game.name, limit)

        return Gadget(_replace_trunk(game, form, payoffs.T, lay_out), self.steps, self.part_hands)

    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the gadget of :meth:`CompiledPart.maxmargin_gadget`.

        The deal of the opponent's hand is compiled as decisions with a single action, one for each
        hand. They become one decision with an action for each hand. The weights make every hand
        equally likely to meet the other player.
        """
        part, opponent, player = self.part, self.opponent, self.player
        met_weight = opponent_weight(part, opponent)
        weights = [np.zeros(len(hands)) for hands in part.rules.hands]
        weights[player][part.part_hands[player]] = part.weights[player]
        chosen = met_weight > ROUNDING * part.weights[player].sum()
        weights[opponent][part.part_hands[opponent][chosen]] = 1.0 / met_weight[chosen]
        hands = int(chosen.sum())
        # Utilities sum to ``2 * end``; charging that to the player makes the gadget zero-sum.
        charged = (2.0 * self.end, 0.0) if player == 0 else (0.0, 2.0 * self.end)
        rules = CardPart(part.rules, part.line, weights, scale=float(hands), charged=charged)
        game = compile_part(rules)
        paid = -hands * alternative[part.part_hands[opponent][chosen]]
        first = int(game.chunks.trunk.player_sequences[opponent]) + 1
        form = _paid_by_hand(game, opponent, first, paid)
        deal = int(form.player_buckets[opponent])
        actions, lanes = form.bucket_actions.copy(), form.bucket_lanes.copy()
        # One lane with an action for each hand, in place of a lane for each hand with one action.
        actions[deal], lanes[deal] = hands, 1
        infosets = form.player_infosets.copy()
        infosets[opponent + 1 :] -= hands - 1
        begin = int(form.bucket_infoset[deal])
        form = form._replace(
            player_infosets=infosets,
            bucket_actions=actions,
            bucket_lanes=lanes,
            bucket_infoset=np.cumsum(lanes) - lanes,
            bucket_stride=lanes,
            infoset_parent=np.delete(form.infoset_parent, slice(begin + 1, begin + hands)),
        )
        values = np.column_stack([paid, -paid] if opponent == 0 else [-paid, paid])
        changed = _replace_trunk(game, form, game.utilities[:, None] + values, _no_flat)
        return Gadget(changed, (), rules.part_hands)


def compile_part(part: CardGame) -> ChunkedGame:
    """Compile a part without merging suits.

    The ranges of a blueprint may differ between suits by rounding.
    """
    with budget(f"compiling {part.name}") as memory:
        return compile_cards(part, Compilation(part.name, memory, symmetry=False))


def _no_flat(limit: int | None) -> FlatGame:
    raise ValueError("the maxmargin gadget of a game of cards has no flat form")


def _paid_by_hand(game: ChunkedGame, player: int, first: int, paid: np.ndarray) -> SequenceForm:
    """Return a trunk in which a player also gets an amount that depends only on their own hand.

    The other player pays it. In the payoffs of cards this is a fold on an additional board, on
    which the player's hands have other weights.

    Args:
        game: A game without merged hands.
        player: The player.
        first: The sequence after which the first hand gets its amount; the other hands follow.
        paid: float64 (hands,): the amounts.
    """
    trunk = game.chunks.trunk
    if len(trunk.operator) > 1:
        raise ValueError(
            f"{game.name}: no gadget can be made before the flop if boards are chosen or run out"
        )
    cards: Any = trunk.operator[0]
    deals = CardNodes.of(game).dealing.total
    begin, middle, end = cards.lanes[0].tolist()
    classes = slice(begin, end)
    # The additional board has the hands of the first one, with the player's weights multiplied by
    # the amounts.
    weight = cards.weight[:, classes].copy()
    weight[:, slice(0, middle - begin) if player == 0 else slice(middle - begin, None)] *= paid
    used, board = cards.weight.shape[1], len(cards.board)
    sequence = np.repeat(1 + trunk.player_sequences[:2, None], LANES, axis=1)
    sequence[player] = first
    amount = np.full((2, 3, LANES), -1.0 / deals)
    amount[player] = 1.0 / deals
    added = cards._replace(
        # Columns of the new classes follow those in use.
        lanes=np.vstack([cards.lanes, cards.lanes[0] - begin + used]),
        weight=np.hstack([cards.weight, weight]),
        same=np.append(cards.same, cards.same[classes]),
        board=np.vstack([cards.board, [*cards.board[0, :2], len(cards.lanes)]]),
        group=np.vstack([cards.group, [1, board, FOLD]]),
        sequence=np.concatenate([cards.sequence, sequence[:, None]], axis=1),
        amount=np.concatenate([cards.amount, amount[:, None]], axis=1),
    )
    return trunk._replace(operator=(added,))


def _replace_trunk(
    game: ChunkedGame,
    trunk: SequenceForm,
    utilities: np.ndarray,
    lay_out: Callable[[int | None], FlatGame],
) -> ChunkedGame:
    """Return a game with another trunk and additional utilities."""
    return ChunkedGame(
        game.name,
        frozen_arrays(game.chunks._replace(trunk=trunk)),
        game.nodes,
        game.counts,
        recipe=game.recipe,
        utilities=np.vstack([game.utilities, utilities.reshape(-1, 2)]),
        merges_hands=False,
        lay_out=lay_out,
    )


class CardSubgames(Subgames):
    """Subgames of a game of cards; only its rules are read if it is not compiled."""

    def __init__(self, rules: CardGame, game: CompiledGame | None = None) -> None:
        self.rules, self.game = rules, game
        self.name = rules.name if game is None else game.name
        self.hands = tuple(
            tuple(rules.hand_label(player, hand) for hand in range(len(rules.hands[player])))
            for player in range(rules.n_players)
        )

    def find(self, names: At) -> list[NamedNode]:
        """Return public nodes by line."""
        spots = []
        for name in names_of(names):
            line = follow(self.rules, "" if name.strip() == START else name)
            if isinstance(self.rules.node(line.state), (Fold, Showdown, SidePots, Runout)):
                over = " ".join(line.steps)
                raise ValueError(
                    f"public_nodes: {self.name} is over at {over!r}: there is no subgame"
                )
            spots.append(NamedNode(" ".join(line.steps) or START, line.steps))
        check_disjoint(spots)
        return spots

    def player(self, steps: Steps) -> int:  # noqa: D102
        node = self.rules.node(follow(self.rules, steps).state)
        if isinstance(node, Decision):
            return node.player
        return CHANCE if isinstance(node, Deal) else TERMINAL

    def part(  # noqa: D102
        self,
        steps: Steps,
        reach: Sequence[np.ndarray],
        player: int,
        constant: float,
        *,
        entry: bool = True,
    ) -> CompiledCardPart | None:
        # The sum of utilities is constant: both players get half of it if the opponent terminates.
        part, end = self._rules_of_part(steps, reach), constant / 2 if entry else None
        return CompiledCardPart(part, player, end) if all(map(len, part.hands)) else None

    def whole_part(self, steps: Steps, reach: Sequence[np.ndarray]) -> Gadget | None:
        """Compile the subgame below a public node for all players, of whom there may be three.

        The arguments are those of :meth:`part`.

        Returns:
            The subgame itself; None if no deal is left.
        """
        part = self._rules_of_part(steps, reach)
        has_deal = all(map(len, part.hands)) and opponent_weight(part, 0).any()
        return Gadget(compile_part(part), (), part.part_hands) if has_deal else None

    def _rules_of_part(self, steps: Steps, reach: Sequence[np.ndarray]) -> CardPart:
        line = follow(self.rules, steps)
        board = (*self.rules.board, *line.dealt)
        weights = [self.rules.weights_on(p, board) * own_reach for p, own_reach in enumerate(reach)]
        return CardPart(self.rules, line, weights)

    def is_of(self, other_game: CompiledGame) -> bool:  # noqa: D102
        if CardNodes.of(other_game).rules is self.rules:
            return True
        return self.game is not None and other_game.digest == self.game.digest

    def deals_like(self, other_game: CompiledGame) -> bool:  # noqa: D102
        other_rules, rules = CardNodes.of(other_game).rules, self.rules
        is_same = (other_rules.board, other_rules.dead) == (rules.board, rules.dead)
        is_same = is_same and list(map(str, other_rules.cards)) == list(map(str, rules.cards))
        is_same = is_same and other_rules.n_players == rules.n_players
        for player in range(rules.n_players if is_same else 0):
            is_same &= np.array_equal(other_rules.hands[player], rules.hands[player])
            is_same = is_same and np.allclose(other_rules.weights[player], rules.weights[player])
        return is_same

    def like(self, other_game: CompiledGame) -> CardSubgames:  # noqa: D102
        return CardSubgames(CardNodes.of(other_game).rules, other_game)

    def difference(self, other_game: CompiledGame, steps: Steps) -> tuple[str, str] | None:  # noqa: D102
        bettings = []
        for rules in (self.rules, CardNodes.of(other_game).rules):
            part = CardPart(rules, follow(rules, steps), rules.weights)
            bettings.append(unfold(part, rules.name))
        if (first_difference := _difference(bettings[0], 0, bettings[1], 0)) is None:
            return None
        return " ".join([*steps, *first_difference[0]]) or START, first_difference[1]


def _difference(
    betting: BettingTree, node: int, other_betting: BettingTree, other_node: int
) -> tuple[list[str], str] | None:
    """Return the steps to the first difference between two games below two nodes, and describe it.

    None if the same players act and all terminals that both games have pay the same.
    """
    if (
        betting.kind[node] != other_betting.kind[other_node]
        or betting.player[node] != other_betting.player[other_node]
    ):
        return [], "continues differently"
    if not np.allclose(betting.amounts[node], other_betting.amounts[other_node], rtol=0, atol=1e-9):
        return [], "pays differently"
    below = dict(_children(other_betting, other_node))
    for step, child in _children(betting, node):
        if (
            step in below
            and (difference := _difference(betting, child, other_betting, below[step])) is not None
        ):
            return ["(card)" if betting.kind[node] == DEAL else step, *difference[0]], difference[1]
    return None


def _children(betting: BettingTree, node: int) -> Iterator[tuple[str, int]]:
    """Yield the steps from a node and the nodes after them; a deal is one step for all cards."""
    first, count = int(betting.first_child[node]), int(betting.children[node])
    return zip(betting.step[first : first + count], range(first, first + count), strict=True)
