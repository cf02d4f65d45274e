"""Subgames of games of cards: the game below a line is again a game of cards, with other ranges.

No array over pairs of hands is made. The gadget of resolving is the same game with a decision of
the opponent before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._util.memory_budget import budget, free_memory
from ..compilers.cards.card_public_nodes import CardNodes
from ..compilers.cards.card_sums import odds_on, opponent_weight, read_deal, unfold, without
from ..compilers.cards.flat_cards import Deals, HandByHand, check_memory
from ..compilers.compilation import Compilation
from ..compilers.pipeline import compile_cards, lay_out_flat
from ..errors import suggest
from ..model.arrays import CHANCE, TERMINAL, SequenceForm, frozen_arrays
from ..model.card_structure import DEAL, BettingTree
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.public_nodes import START
from ..payoff.card_payoffs import FOLD, LANES
from ..rules import CardGame, Deal, Decision, Fold, Payoff, Runout, Showdown
from .compiled_part import CompiledPart, Gadget, NamedNode, PartHands, Subgames
from .roots import At, Steps, check_disjoint, names_of
from .subgame_rules import FOLLOW, TERMINATE

ROUNDING = 1e-12
"""Share of a sum of weights below which a difference of such sums is treated as rounding error."""


class Before(NamedTuple):
    """Public state of a gadget before the subgame."""

    depth: int
    """Depth of nesting of the gadget: the number of parts that contain each other."""
    left: bool
    """True if the opponent has taken the alternative value; False if they decide."""


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
                raise ValueError(f"at: in {rules.name} {step!r} cannot be dealt {where}")
            state, dealt = rules.next(state, None), (*dealt, *cards)
            continue
        actions = {str(a): a for a in node.actions} if isinstance(node, Decision) else {}
        if step not in actions:
            hint = suggest(step, list(actions)) if actions else "the game is over there"
            raise ValueError(f"at: {rules.name} has no step {step!r} {where}; {hint}")
        state = rules.next(state, actions[step])
    return Line(steps, state, dealt)


class CardPart(CardGame):
    """The game below a line, as rules.

    Hands that share a card with the board or have weight 0 are left out. With an opponent there is
    an *entry* before the subgame, at which the opponent follows or terminates; if they terminate,
    both players get ``end``. At terminals of the subgame each player first pays their ``charged``
    amount; the rest is multiplied by ``scale``.

    Args:
        rules: The rules of the whole game.
        line: The line.
        weights: For each player float64 (hands of the whole game,): the weights of the hands.
        opponent: The player who decides at the entry; None for no entry.
        end: Payoff of both players if the opponent terminates.
        scale: Factor of the payoffs.
        charged: Amount that each player pays at terminals of the subgame.
    """

    def __init__(
        self,
        rules: CardGame,
        line: Line,
        weights: Sequence[np.ndarray],
        opponent: int | None = None,
        end: float = 0.0,
        scale: float = 1.0,
        charged: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.rules, self.line, self.opponent, self.end = rules, line, opponent, end
        self.scale, self.charged = scale, charged
        self.depth: int = 1 + getattr(rules, "depth", 0)
        self.entry, self.left = Before(self.depth, left=False), Before(self.depth, left=True)
        self.cards = rules.cards
        self.board, self.dead = (*rules.board, *line.dealt), rules.dead
        self.boards = None if line.dealt else rules.boards
        dealt = np.array(line.dealt, dtype=np.int64)
        first, second = (
            np.flatnonzero((weight > 0) & without(hands, dealt))
            for hands, weight in zip(rules.hands, weights, strict=True)
        )
        self.part_hands: PartHands = (first, second)
        """Hands that are left, for each player int64 (hands,), as numbers in the whole game."""
        self.hands = [
            hands[indices] for hands, indices in zip(rules.hands, self.part_hands, strict=True)
        ]
        self.weights = [
            weight[indices] for weight, indices in zip(weights, self.part_hands, strict=True)
        ]
        self.weights_vary = rules.weights_vary

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

    def root(self) -> Any:
        """Return the entry, or the state that the line leads to."""
        return self.line.state if self.opponent is None else self.entry

    def node(self, state: Any) -> Decision | Deal | Fold | Showdown | Runout:
        """Return the entry, the payoff for terminating, or a node of the whole game.

        Payoffs of the whole game are charged and scaled.
        """
        if state == self.left:
            return Fold((self.end, self.end))
        if self.opponent is not None and state == self.entry:
            return Decision(self.opponent, None, (FOLLOW, TERMINATE))
        node = self.rules.node(state)
        if not isinstance(node, (Fold, Showdown, Runout)):
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

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after an action, as in the whole game."""
        if state == self.entry:
            return self.line.state if action == FOLLOW else self.left
        return self.rules.next(state, action)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strengths of hands, as in the whole game."""
        return self.rules.strength(board, hands)

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
    """A subgame of a game of cards, compiled for the player whose strategy is solved again."""

    game: ChunkedGame

    def __init__(self, rules: CardPart, player: int) -> None:
        game, all_hands = compile_part(rules), len(rules.rules.hands[1 - player])
        super().__init__(
            game, rules.part_hands, all_hands, player, entry=rules.opponent is not None
        )
        self.rules = rules

    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the gadget of :meth:`CompiledPart.resolve_gadget`; terminating pays by hand."""
        game, part, opponent = self.game, self.rules, self.opponent
        paid = np.nan_to_num(alternative[self.part_hands[opponent]]) - part.end
        terminates = int(self.nodes.layout(0).numbers([0])[0, 1])
        form = _paid_by_hand(game, opponent, terminates, paid)
        utilities = np.full((len(paid), 2), part.end)
        utilities[:, opponent] += paid
        utilities[:, self.player] -= paid

        def lay_out(limit: int | None) -> FlatGame:
            limit = free_memory() if limit is None else limit
            check_memory(part, game.name, limit)
            return lay_out_flat(GadgetByHand(part, paid), game.name, limit)

        return Gadget(_replace_trunk(game, form, utilities, lay_out), self.steps, self.part_hands)

    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the gadget of :meth:`CompiledPart.maxmargin_gadget`.

        The deal of the opponent's hand is compiled as decisions with a single action, one for each
        hand. They become one decision with an action for each hand. The weights make every hand
        equally likely to meet the other player.
        """
        part, opponent, player = self.rules, self.opponent, self.player
        met_weight = opponent_weight(part, opponent)
        weights = [np.zeros(len(hands)) for hands in part.rules.hands]
        weights[player][part.part_hands[player]] = part.weights[player]
        chosen = met_weight > ROUNDING * part.weights[player].sum()
        weights[opponent][part.part_hands[opponent][chosen]] = 1.0 / met_weight[chosen]
        hands = int(chosen.sum())
        # Utilities sum to ``2 * end``; charging that to the player makes the gadget zero-sum.
        charged = (2.0 * part.end, 0.0) if player == 0 else (0.0, 2.0 * part.end)
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


def compile_part(part: CardPart) -> ChunkedGame:
    """Compile a part without merging suits.

    The ranges of a blueprint may differ between suits by rounding.
    """
    with budget(f"compiling {part.name}", free_memory()) as memory:
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


class GadgetByHand(HandByHand):
    """The gadget with all pairs of hands enumerated, for small decks.

    Args:
        part: The part.
        paid: float64 (hands of the opponent,): payoff for terminating, in addition to ``part.end``.
    """

    def __init__(self, part: CardPart, paid: np.ndarray) -> None:
        super().__init__(part)
        opponent_payoff = np.broadcast_to(
            paid[:, None] if part.opponent == 0 else paid, self.prior.shape
        )
        both = (
            [opponent_payoff, -opponent_payoff]
            if part.opponent == 0
            else [-opponent_payoff, opponent_payoff]
        )
        self.part, self.paid = part, part.end + np.stack(both)

    def node(self, state: tuple[Any, Deals]) -> Any:
        """Return a node of the part; terminating pays by hand."""
        return Payoff(1.0, state[0]) if state[0] == self.part.left else super().node(state)

    def matrix(self, key: Any) -> np.ndarray:
        """Return the payoffs of every pair of hands."""
        return self.paid if key == self.part.left else super().matrix(key)


class CardSubgames(Subgames):
    """Subgames of a game of cards; only its rules are read if it is not compiled."""

    def __init__(self, rules: CardGame, game: CompiledGame | None = None) -> None:
        self.rules, self.game = rules, game
        self.name = rules.name if game is None else game.name
        first, second = (
            tuple(rules.hand_label(player, hand) for hand in range(len(rules.hands[player])))
            for player in range(2)
        )
        self.hands = first, second

    def find(self, names: At) -> list[NamedNode]:
        """Return public nodes by line."""
        spots = []
        for name in names_of(names):
            line = follow(self.rules, "" if name.strip() == START else name)
            if isinstance(self.rules.node(line.state), (Fold, Showdown, Runout)):
                over = " ".join(line.steps)
                raise ValueError(f"at: {self.name} is over at {over!r}: there is no subgame")
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
        line, opponent = follow(self.rules, steps), 1 - player if entry else None
        board = (*self.rules.board, *line.dealt)
        weights = [self.rules.weights_on(p, board) * own_reach for p, own_reach in enumerate(reach)]
        # The sum of utilities is constant: both players get half of it if the opponent terminates.
        rules = CardPart(self.rules, line, weights, opponent, end=constant / 2)
        return CompiledCardPart(rules, player) if all(map(len, rules.hands)) else None

    def is_of(self, other_game: CompiledGame) -> bool:  # noqa: D102
        if CardNodes.of(other_game).rules is self.rules:
            return True
        return self.game is not None and other_game.digest == self.game.digest

    def deals_like(self, other_game: CompiledGame) -> bool:  # noqa: D102
        other_rules, rules = CardNodes.of(other_game).rules, self.rules
        is_same = (other_rules.board, other_rules.dead) == (rules.board, rules.dead)
        is_same = is_same and list(map(str, other_rules.cards)) == list(map(str, rules.cards))
        for player in range(2):
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
        first_difference = _difference(bettings[0], 0, bettings[1], 0)
        return (
            None
            if first_difference is None
            else (" ".join([*steps, *first_difference[0]]) or START, first_difference[1])
        )


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
        return [], "goes on otherwise"
    if not np.allclose(betting.amounts[node], other_betting.amounts[other_node], rtol=0, atol=1e-9):
        return [], "pays otherwise"
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
