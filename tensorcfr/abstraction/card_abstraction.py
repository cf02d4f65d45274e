"""Abstraction of games of cards in chunks: buckets of hands for each round.

The hands of a bucket share their decisions, but terminals compare hands as in the full game.
Payoffs are therefore still one pass over the hands in order of strength, without arrays over pairs
of hands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, checked
from .._util.memory_budget import budget
from ..compilers.cards.card_public_nodes import CardNodes
from ..compilers.cards.card_sums import cards_label, compared, without
from ..compilers.compilation import AUTO, Compilation
from ..compilers.pipeline import compile_cards
from ..model.card_structure import HandClasses, RoundBoards, Symmetry
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.function_policies import LazyPolicy
from ..model.game_arguments import Compiled
from ..model.policy import Policy
from ..model.public_nodes import NodeLayout, PublicNodes
from .abstract_game import OF_THE_ABSTRACTION
from .buckets import card_nodes, spaced

Rounds = Sequence[int | Callable[[int, tuple[str, ...], tuple[str, ...]], Any] | None]
"""Bucketing rule of each round; see :func:`abstract_cards`."""
ROUNDS = Kind((list, tuple), "a list with one entry for each round of betting")


class BucketedCards(ChunkedGame):
    """A game of cards in which the hands of a bucket share their decisions.

    Labels, lines and hands are those of the full game. Make one with :func:`abstract_cards`.

    Args:
        compiled: The game with buckets.
        full: The full game.
    """

    def __init__(self, compiled: ChunkedGame, full: CompiledGame) -> None:
        super().__init__(
            compiled.name,
            compiled.chunks,
            compiled.nodes,
            compiled.counts,
            recipe=compiled.recipe,
            utilities=compiled.utilities,
            merges_hands=True,
            lay_out=self._refuse,
        )
        self.full = full

    def _refuse(self, limit: int | None) -> FlatGame:
        raise ValueError(
            f"{self.name} is not flat: abstract_hands({self.full.name}, ...) makes a flat "
            "abstraction"
        )

    @property
    def caveat(self) -> str:
        """Caveat of the compiled game and of the abstraction; see :attr:`CompiledGame.caveat`."""
        return " ".join(filter(None, (super().caveat, OF_THE_ABSTRACTION)))

    def lifted(self, policy: Policy) -> Policy:
        """Lift a policy to the full game; its parts are computed on demand.

        See :func:`tensorcfr.abstraction.lift`.
        """
        return LazyPolicy(
            self.full, partial(_bucket_strategies, self.nodes, policy), symmetric=True
        )


def _bucket_strategies(
    bucket_nodes: PublicNodes,
    policy: Policy,
    _: PublicNodes,
    node: int,
    full: NodeLayout,
    hands: np.ndarray,
) -> np.ndarray:
    """Return the strategies of the buckets of some hands at a node, float64 (hands, actions)."""
    return policy.at(bucket_nodes.layout(node).numbers(hands))


@checked()
def abstract_cards(game: Compiled, buckets: Annotated[Rounds, ROUNDS]) -> BucketedCards:
    """Make an abstraction of a game of cards with the hands of each round in buckets, in chunks.

    Players remember earlier buckets: the buckets of a round subdivide those of the rounds before,
    so ``(20, 10)`` makes at most 200 buckets on a flop. Memory and time are about those of the full
    game, because payoffs are still compared hand by hand.

    >>> from tensorcfr import compile_game, evaluate, solve
    >>> from tensorcfr.abstraction import lift
    >>> full = compile_game("limit_holdem(rounds=2, ranks='2345', suits=2)")
    >>> small = abstract_cards(full, (4, 3))
    >>> solution = solve(small, iters=200)
    >>> lost = evaluate(full, lift(solution)).exploitability
    >>> round(solution.exploitability, 1), lost > 1
    (0.0, True)

    Args:
        game: A game of cards in chunks.
        buckets: One entry for each round of betting, from the first deal on. A number means so many
            buckets of equal weight by expected strength: the equity against all hands, averaged
            over all boards to come. None leaves the hands as they are. A function gets the player,
            the labels of the board and the labels of all hands, and returns integers (hands,); its
            results for hands that contain a card of the board are ignored.

    Raises:
        ValueError: The game is not a game of cards, has another number of rounds, or has no boards
            to compute strengths from. Or a function returns something else, or separates hands that
            differ only by a symmetry of the suits.
        MemoryLimitError: Compiling the abstraction needs more than the free memory.
    """
    cards = card_nodes(game)
    if len(buckets) != cards.betting.rounds + 1:
        raise ValueError(
            f"buckets has {len(buckets)} entries, and {game.name} has {cards.betting.rounds + 1} "
            "rounds of betting"
        )
    for r, rule in enumerate(buckets):
        is_number = isinstance(rule, int) and not isinstance(rule, bool) and rule >= 1
        if not (rule is None or is_number or callable(rule)):
            raise ValueError(f"buckets[{r}] must be a number from 1, None or a function: {rule!r}")
    name = f"abstraction of {game.name}"
    with budget(f"compiling {name}") as memory:
        bucketed = partial(_bucketed, cards, buckets)
        cut = min(cards.chunks, default=AUTO)
        compiled = compile_cards(cards.rules, Compilation(name, memory, cut=cut, bucketed=bucketed))
    return BucketedCards(compiled, game)


def _bucketed(
    cards: CardNodes, buckets: Rounds, boards: tuple[RoundBoards, ...], symmetry: Symmetry
) -> Symmetry:
    """Replace the classes of hands on every solved board by buckets."""
    strength = _strengths(cards) if any(isinstance(entry, int) for entry in buckets) else None
    known: dict[tuple[Any, ...], int] = {}
    played: list[tuple[HandClasses, HandClasses]] = []
    rounds, before = [], list[tuple[HandClasses, HandClasses]]()
    for r, (of_round, rule) in enumerate(zip(symmetry.rounds, buckets, strict=True)):
        round_classes = []
        for k, board in enumerate(of_round.board.tolist()):
            kind, parent = symmetry.classes[of_round.classes[k]], int(of_round.parent[k])
            if rule is None and (
                not r or before[parent] is symmetry.classes[symmetry.rounds[r - 1].classes[parent]]
            ):
                round_classes.append(kind)
                continue
            dealt, divided = boards[r].cards[board], []
            for player, suit_classes in enumerate(kind):
                live = without(cards.rules.hands[player], dealt)
                if rule is None:
                    hand_buckets = suit_classes.of_hand
                elif callable(rule):
                    hand_buckets = _call_rule(cards, rule, r, player, dealt, suit_classes, live)
                else:
                    assert strength is not None
                    weight = np.where(live, cards.rules.weights[player], 0.0)
                    hand_buckets = spaced(strength[r][player][k], weight, rule, "quantiles")
                coarser = before[parent][player].of_hand if r else np.zeros_like(hand_buckets)
                divided.append(_divide_buckets(coarser, hand_buckets, live))
            round_classes.append((divided[0], divided[1]))
        kinds = []
        for kind_of_board, both_players in zip(
            of_round.classes.tolist(), round_classes, strict=True
        ):
            # Boards with the same buckets share the structure of a chunk. The class of
            # the board is part of the key, because terminals compare hands, not buckets.
            key = (
                r,
                kind_of_board,
                *(player_classes.of_hand.tobytes() for player_classes in both_players),
            )
            if key not in known:
                known[key] = len(played)
                played.append(both_players)
            kinds.append(known[key])
        rounds.append(of_round._replace(played=np.array(kinds)))
        before = [played[kind] for kind in kinds]
    return symmetry._replace(played=tuple(played), rounds=tuple(rounds))


def _divide_buckets(before: np.ndarray, buckets: np.ndarray, live: np.ndarray) -> HandClasses:
    """Divide the buckets of the round before by the buckets of a round.

    Hands that are impossible on the board join the bucket of another hand, so that they add none.

    Args:
        before: int64 (hands,): buckets of the round before.
        buckets: int64 (hands,): buckets of this round.
        live: bool (hands,): True for hands that are possible on the board.
    """
    buckets = np.unique(buckets, return_inverse=True)[1]
    # An impossible hand takes the bucket of some possible hand of its earlier bucket.
    leads = np.zeros(int(before.max()) + 1, dtype=np.int64)
    leads[before[live]] = buckets[live]
    buckets = np.where(live, buckets, leads[before])
    _, first, of_hand = np.unique(
        before * (buckets.max() + 1) + buckets, return_index=True, return_inverse=True
    )
    return HandClasses(of_hand, first, np.maximum(np.bincount(of_hand, live), 1).astype(np.int64))


def _call_rule(
    cards: CardNodes,
    rule: Callable[..., Any],
    r: int,
    player: int,
    dealt: np.ndarray,
    suit_classes: HandClasses,
    live: np.ndarray,
) -> np.ndarray:
    """Return the buckets that a caller's function gives on a board, int64 (hands,)."""
    board = tuple(str(cards.rules.cards[card]) for card in dealt)
    names = cards.hands[player]
    buckets = np.asarray(rule(player, board, names))
    if buckets.shape != (len(names),) or buckets.dtype.kind not in "iu":
        raise ValueError(
            f"buckets[{r}] must return whole numbers of shape ({len(names)},), not "
            f"{buckets.dtype} {buckets.shape}"
        )
    separated = np.flatnonzero(
        live & (buckets != buckets[suit_classes.first[suit_classes.of_hand]])
    )
    if len(separated):
        hand = names[separated[0]]
        equivalent_hand = names[suit_classes.first[suit_classes.of_hand[separated[0]]]]
        where = f"on {cards_label(cards.rules, dealt)}" if len(dealt) else "before the board"
        raise ValueError(
            f"buckets[{r}] separates {hand} and {equivalent_hand} {where}, "
            "which differ only in their suits"
        )
    return buckets.astype(np.int64)


def _strengths(cards: CardNodes) -> list[tuple[np.ndarray, np.ndarray]]:
    """Compute the expected strengths of all hands on all solved boards, by round and player.

    The strength of a hand is the share of the other player's range that it beats, with ties counted
    half, averaged over the boards to come.

    Returns:
        For each round and player, float64 (boards, hands); NaN for hands that contain a card of the
        board.
    """
    rules, symmetry, boards = cards.rules, cards.symmetry, cards.boards
    if len(boards) < 2:
        raise ValueError(
            f"{cards.name_of_game} deals no board: pass a function instead of numbers of buckets"
        )
    last = []
    for player in range(2):
        rows = []
        for board in symmetry.rounds[-1].board.tolist():
            dealt = boards[-1].cards[board]
            weight = rules.weights[1 - player] * without(rules.hands[1 - player], dealt)
            beaten, tied, lost = compared(rules, (*rules.board, *dealt), player, weight)
            total = beaten + tied + lost
            rows.append(
                np.divide(beaten + tied / 2, total, np.full(len(total), np.nan), where=total > 0)
            )
        last.append(np.array(rows))
    strengths = [(last[0], last[1])]
    # Strengths of a round are means of those of the next, so rounds run from the last back.
    for r in range(len(boards) - 2, -1, -1):
        next_boards = boards[r + 1]
        begin = np.searchsorted(boards[r + 1].parent, symmetry.rounds[r].board)
        end = np.searchsorted(next_boards.parent, symmetry.rounds[r].board, "right")
        weight = cards.dealing.weights(next_boards.cards)
        means = []
        for player in range(2):
            mean = np.empty((len(begin), len(rules.hands[player])))
            for k, children in enumerate(map(np.arange, begin, end)):
                sums, counts = np.zeros((2, mean.shape[1]))
                for child in children.tolist():
                    # Only one board of each class is solved. The permutation maps the hands on this
                    # board to those on the representative.
                    images = symmetry.hands[player][symmetry.rounds[r + 1].permutation[child]]
                    permuted = strengths[0][player][symmetry.rounds[r + 1].of_board[child]][images]
                    live = ~np.isnan(permuted)
                    sums[live] += weight[child] * permuted[live]
                    counts[live] += weight[child]
                mean[k] = np.divide(sums, counts, np.full(len(sums), np.nan), where=counts > 0)
            means.append(mean)
        strengths.insert(0, (means[0], means[1]))
    return strengths
