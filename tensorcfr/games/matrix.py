"""Games in normal form, in which all players choose once, simultaneously; and classic examples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from .._util.argument_checks import Kind, Text, checked
from ..rules import Decision, Game, Terminal


class MatrixGame(Game):
    """A game in normal form, of your own: any number of players, any payoffs.

    In the game tree the players choose one after the other, player 0 first, and do not see the
    choices of the others.

    >>> MatrixGame([[1, -1], [-1, 1]]).n_players
    2
    >>> MatrixGame([[[3, 0], [0, 2]], [[2, 0], [0, 3]]], actions=["BS", "BS"], title="BoS").name
    'BoS'

    Args:
        payoffs: Utilities, shape ``(n_players, actions of player 0, actions of player 1, ...)``.
            One matrix is a zero-sum game: the row player gets it and the column player pays it.
            One list holds the utilities of a single player.
        actions: Labels of the actions, by player; by default actions are numbered from 0.
        title: Name of the game.

    Infoset labels are ``"P0"``, ``"P1"``, ...: each player has one infoset.
    """

    @checked("matrix")
    def __init__(
        self,
        payoffs: ArrayLike,
        *,
        actions: Annotated[
            Sequence[Sequence[Hashable]] | None, Kind((Sequence,), "labels for each player")
        ] = None,
        title: Annotated[str, Text()] = "matrix",
    ) -> None:
        self.payoffs = _check_payoffs(payoffs)
        """Utilities, shape ``(n_players, actions of player 0, ...)``, read-only."""
        self.n_players = len(self.payoffs)
        self.actions = _check_actions(actions, self.payoffs.shape[1:])
        """Labels of the actions, by player."""
        self.title = title
        self._decisions = [
            Decision(player, f"P{player}", labels) for player, labels in enumerate(self.actions)
        ]
        self._rows = [
            {action: row for row, action in enumerate(player_actions)}
            for player_actions in self.actions
        ]

    @property
    def name(self) -> str:
        """Title of the game."""
        return self.title

    def root(self) -> tuple[int, Any]:
        """Return the first state: the player who chooses, and all payoffs as nested lists."""
        # The axis of the player comes last, so that each choice indexes the outermost list.
        return 0, np.moveaxis(self.payoffs, 0, -1).tolist()

    def node(self, state: tuple[int, Any]) -> Decision | Terminal:
        """Return the decision of the player who chooses, or the terminal after the last choice."""
        player, payoffs = state
        return self._decisions[player] if player < self.n_players else Terminal(tuple(payoffs))

    def next(self, state: tuple[int, Any], action: Hashable) -> tuple[int, Any]:
        """Return the state after an action, which narrows the payoffs to one row of the table."""
        player, payoffs = state
        return player + 1, payoffs[self._rows[player][action]]


def rock_paper_scissors() -> MatrixGame:
    """Return rock, paper, scissors: the winner gets 1 from the loser.

    Value 0, every action with probability 1/3.  Equals OpenSpiel's ``matrix_rps``.

    Source: J. von Neumann and O. Morgenstern, "Theory of games and economic behavior", 1944.
    """
    return _rock_paper_scissors("rock_paper_scissors", paper_rock=1, rock_scissors=1)


def rock_paper_scissors_plus() -> MatrixGame:
    """Return rock, paper, scissors where the winner gets 2 if anybody throws scissors, else 1.

    Value 0, with probabilities 2/5, 2/5, 1/5.

    Source: N. Brown, T. Sandholm, B. Amos, "Depth-limited solving for imperfect-information
    games", NeurIPS 2018.
    """
    return _rock_paper_scissors(
        "rock_paper_scissors_plus", paper_rock=1, rock_scissors=2, scissors_paper=2
    )


def biased_rock_paper_scissors() -> MatrixGame:
    """Return rock, paper, scissors where paper wins 25, rock 50 and scissors 5.

    Value 0, with probabilities 1/16, 10/16, 5/16.  Equals OpenSpiel's ``matrix_brps``.

    Source: B. Bošanský et al., "Algorithms for computing strategies in two-player simultaneous
    move games", Artificial Intelligence 237, 2016, figure 7.
    """
    return _rock_paper_scissors(
        "biased_rock_paper_scissors", paper_rock=25, rock_scissors=50, scissors_paper=5
    )


def matching_pennies() -> MatrixGame:
    """Return matching pennies: player 0 wins 1 if both show the same side, player 1 if not.

    Value 0, both sides with probability 1/2.  Equals OpenSpiel's ``matrix_mp``.

    Source: J. von Neumann and O. Morgenstern, "Theory of games and economic behavior", 1944.
    """
    return MatrixGame([[1, -1], [-1, 1]], actions=[_COIN] * 2, title="matching_pennies")


def matching_pennies_3p() -> MatrixGame:
    """Return matching pennies for three: 0 wants to match 1, 1 to match 2, and 2 to differ from 0.

    Not zero-sum; the only equilibrium is uniform.  Equals OpenSpiel's ``matching_pennies_3p``.

    Source: J. S. Jordan, "Three problems in learning mixed-strategy Nash equilibria", Games and
    Economic Behavior 5(3), 1993.
    """
    first, second, third = np.indices((2, 2, 2))
    matches = np.array([first == second, second == third, third != first])
    return MatrixGame(2 * matches - 1, actions=[_COIN] * 3, title="matching_pennies_3p")


def prisoners_dilemma() -> MatrixGame:
    """Return the prisoner's dilemma: defecting is always better for one, and worse for both.

    Only equilibrium: both defect.  Equals OpenSpiel's ``matrix_pd``.

    Source: A. W. Tucker, "A two-person dilemma", 1950.
    """
    return _symmetric("prisoners_dilemma", [[5, 0], [10, 1]], ("cooperate", "defect"))


def stag_hunt() -> MatrixGame:
    """Return the stag hunt: a stag needs both hunters, a hare does not.

    Pure equilibria: both hunt the stag, or both the hare.  Equals OpenSpiel's ``matrix_sh``.

    Source: B. Skyrms, "The stag hunt and the evolution of social structure", 2004.
    """
    return _symmetric("stag_hunt", [[2, 0], [1, 1]], ("stag", "hare"))


def chicken() -> MatrixGame:
    """Return chicken: a player who dares wins, unless both do.

    Pure equilibria: one dares and the other does not.  Equals OpenSpiel's ``matrix_cd``.

    Source: A. Rapoport and A. M. Chammah, "The game of chicken", American Behavioral Scientist
    10(3), 1966.
    """
    return _symmetric("chicken", [[0, 4], [1, 3]], ("dare", "chicken"))


def battle_of_the_sexes() -> MatrixGame:
    """Return battle of the sexes, or Bach or Stravinsky: meeting matters more than the place.

    Pure equilibria: both players choose Bach, or both choose Stravinsky.  In the mixed equilibrium
    each player chooses their preferred concert with probability 3/5.  Equals OpenSpiel's
    ``matrix_bos``.

    Source: R. D. Luce and H. Raiffa, "Games and decisions", 1957.
    """
    payoffs = [[[3, 0], [0, 2]], [[2, 0], [0, 3]]]
    return MatrixGame(payoffs, actions=[("bach", "stravinsky")] * 2, title="battle_of_the_sexes")


def shapleys_game() -> MatrixGame:
    """Return Shapley's game: rock, paper, scissors where the winner gets 1, the loser pays nothing.

    Fictitious play cycles forever; the only equilibrium is uniform.  Equals OpenSpiel's
    ``matrix_shapleys_game``.

    Source: L. S. Shapley, "Some topics in two-person games", Advances in Game Theory, 1964.
    """
    return _symmetric("shapleys_game", [[0, 0, 1], [1, 0, 0], [0, 1, 0]], _HANDS)


_COIN = ("heads", "tails")
_HANDS = ("rock", "paper", "scissors")


def _rock_paper_scissors(
    title: str, *, paper_rock: float, rock_scissors: float, scissors_paper: float = 1
) -> MatrixGame:
    """Return the zero-sum game in which each pair of hands, winner first, pays the given amount."""
    payoffs = [
        [0, -paper_rock, rock_scissors],
        [paper_rock, 0, -scissors_paper],
        [-rock_scissors, scissors_paper, 0],
    ]
    return MatrixGame(payoffs, actions=[_HANDS] * 2, title=title)


def _symmetric(title: str, payoffs: ArrayLike, actions: Sequence[str]) -> MatrixGame:
    """Return the two-player game that is the same for both players."""
    row_payoffs = np.array(payoffs)
    return MatrixGame([row_payoffs, row_payoffs.T], actions=[actions] * 2, title=title)


def _check_payoffs(payoffs: ArrayLike) -> np.ndarray:
    """Check the payoffs and return a read-only copy.

    Returns:
        float64 ``(n_players, actions of player 0, actions of player 1, ...)``.
    """
    try:
        table = np.array(payoffs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "matrix: payoffs must be an array of numbers whose rows are equally long "
            f"({str(error)[:100]})"
        ) from None
    if table.ndim == 1:
        table = table[None]
    elif table.ndim == 2:
        table = np.stack([table, 0.0 - table])  # Unlike -table, this leaves no negative zeros.
    if table.ndim < 2 or table.ndim != len(table) + 1:
        raise ValueError(
            "matrix: payoffs must have shape (n_players, actions of player 0, ...), one axis per"
            f" player after the first, or be one matrix or one list, not shape {table.shape}"
        )
    if table.size == 0:
        raise ValueError(
            f"matrix: payoffs must have at least one action per player, not shape {table.shape}"
        )
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        player, *choices = wrong[0].tolist()
        raise ValueError(
            f"matrix: payoffs must be finite; player {player} gets"
            f" {table[tuple(wrong[0])]} at actions {tuple(choices)}"
        )
    table.flags.writeable = False
    return table


def _check_actions(
    actions: Sequence[Sequence[Hashable]] | None, counts: Sequence[int]
) -> list[tuple[Hashable, ...]]:
    """Check the labels of the actions and return them as tuples, by player."""
    if actions is None:
        return [tuple(range(count)) for count in counts]
    if len(actions) != len(counts):
        raise ValueError(f"matrix: actions must label {len(counts)} players, not {len(actions)}")
    labels = [tuple(player_labels) for player_labels in actions]
    for player, (player_labels, count) in enumerate(zip(labels, counts, strict=True)):
        if len(player_labels) != count:
            raise ValueError(
                f"matrix: actions must hold {count} labels for player {player},"
                f" not {len(player_labels)}: {player_labels!r}"
            )
        if len({str(action) for action in player_labels}) != count:
            raise ValueError(f"matrix: actions of player {player} must differ: {player_labels!r}")
    return labels
