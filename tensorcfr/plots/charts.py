"""Charts of strategies: the four decisions of Kuhn poker, and hands by actions at a public node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from ..analysis.named_nodes import find_node, public_nodes
from ..analysis.policy_values import values
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import START
from ..model.sequence_table import policy_of
from ..solvers.solution import Solution
from .style import (
    COLOURS,
    TITLE_SIZE,
    axes_in,
    caption,
    check_format,
    figure_of,
    light_grid,
    new_figure,
    written,
)
from .titles import game_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEVER = 5e-4
"""Reach below which an infoset counts as avoided."""

MAX_ROWS = 24
"""Largest number of infosets that :func:`infoset_chart` draws by default."""

FEW_CARDS = 6
"""Largest number of cards for which "<.01" fits below a bar."""

MAX_BARS = 20
"""Largest number of cards of Kuhn poker that are drawn as bars with numbers; more are drawn as
lines."""

MAX_OF_KUHN = 10_000
"""Largest number of infosets of a game that is compared with Kuhn poker."""

KUHN_STAGES = {
    START: "player 0 opens",
    "p": "player 1, facing a check",
    "b": "player 1, facing a bet",
    "pb": "player 0, facing a bet\nafter a check",
}
"""The four decisions of two-player Kuhn poker, by public node."""


def is_kuhn(game: CompiledGame) -> bool:
    """Return whether :func:`kuhn_stages` can draw this game: two players, one bet, any deck."""
    if game.n_players != 2 or game.n_infosets > MAX_OF_KUHN:
        return False
    nodes = public_nodes(game)
    return {name: node.actions for name, node in nodes.items()} == dict.fromkeys(
        KUHN_STAGES, ("pass", "bet")
    )


def kuhn_stages(
    solution: Solution | Policy,
    *,
    path: str | Path | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Draw the four decisions of two-player Kuhn poker: the probability of betting, by card.

    For three cards the picture shows all equilibria (H. W. Kuhn, "A simplified two-person poker",
    1950): one strategy of player 1, and a family of strategies of player 0. The parameter of the
    family is ``alpha`` between 0 and 1/3, the probability of opening with a bet on the jack. More
    than 20 cards are drawn as lines.

    Args:
        solution: A solution or a policy of two-player Kuhn poker, any deck.
        path: File for the picture; its suffix gives the format.
        ax: Four axes to draw on, one per decision, without a caption; by default those of a new
            figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The game is not two-player Kuhn poker, ``ax`` does not hold four axes, or the
            suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    policy: Policy = policy_of(solution)
    if not is_kuhn(policy.game):
        raise ValueError(f"{policy.game.name} is not two-player Kuhn poker; use strategy_chart")
    nodes = public_nodes(policy.game)
    betting = {name: policy.at(nodes[name].infosets.numbers)[:, 1].tolist() for name in KUHN_STAGES}
    cards = nodes[START].hands
    if ax is None:
        wide = 1.1 * len(cards) if len(cards) <= MAX_BARS else 0.0
        figure = new_figure(max(8.8, wide), 3.9)
        panels: list[Any] = list(figure.subplots(1, 4, sharey=True))
    else:
        panels = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(panels) != len(KUHN_STAGES):
            raise ValueError(f"ax must be {len(KUHN_STAGES)} axes, not {len(panels)}")
        figure = figure_of(panels[0])
    width = 0.62
    for panel, (name, title) in zip(panels, KUHN_STAGES.items(), strict=True):
        places = np.arange(len(cards))
        panel.set_title(title, fontsize=10)
        if len(cards) > MAX_BARS:
            panel.step(places, betting[name], where="mid", color=COLOURS[0], linewidth=1.5)
            shown = places[:: len(cards) // 4]
            panel.set_xticks(shown, [cards[place] for place in shown])
        else:
            bars = panel.bar(places, betting[name], width, color="#7DB7DE", label="this strategy")
            panel.set_xticks(places, cards)
            panel.tick_params(axis="x", length=0, pad=12)
            for place, chance in enumerate(betting[name]):
                text = _percent(chance)
                if len(cards) > FEW_CARDS:  # No space for four characters below a bar.
                    text = {"<.01": "", ">.99": "1"}.get(text, text)
                panel.annotate(text, (place, 0), (0, -3), textcoords="offset points", **_SMALL)
        if len(cards) == 3:
            _draw_family(panel, name, betting[START][0], width)
        panel.set_ylim(0, 1.03)
        light_grid(panel)
        panel.set_axisbelow(True)
        panel.grid(visible=False, axis="x")
        panel.set_xlabel("card")
    panels[0].set_ylabel("probability of betting\n(facing a bet: of calling)")
    if ax is None:
        if len(cards) == 3:
            _explain(figure, bars)
        caption(figure, _caption(solution))
    return written(figure, path)


_SMALL: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8.0, "color": "#333333"}


def _percent(probability: float) -> str:
    """Format a probability with two decimals; do not round to 0 or 1."""
    if 0 < probability < 0.005:
        return "<.01"
    if 0.995 <= probability < 1 - 1e-9:
        return ">.99"
    return f"{probability:.2f}".replace("0.", ".") if probability < 0.995 else "1"


def _family(alpha: float) -> dict[str, tuple[float, float, float]]:
    """Return the equilibrium of an ``alpha``: probabilities of betting with J, Q, K, by stage."""
    third = 1 / 3
    return {
        START: (alpha, 0.0, 3 * alpha),
        "p": (third, 0.0, 1.0),
        "b": (0.0, third, 1.0),
        "pb": (0.0, alpha + third, 1.0),
    }


def _draw_family(ax: Axes, stage: str, alpha: float, width: float) -> None:
    """Draw all equilibria as brackets, and the one with the strategy's ``alpha`` as diamonds."""
    lowest, highest = _family(0.0)[stage], _family(1 / 3)[stage]
    member = _family(min(max(alpha, 0.0), 1 / 3))[stage]
    half = width / 2 + 0.06
    for place, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        for end in {low, high}:
            ax.plot([place - half, place + half], [end, end], color="black", lw=1.5, clip_on=False)
        if high > low:
            ax.plot([place, place], [low, high], color="black", lw=1.0)
    ax.plot(
        range(3), member, "D", color="#D55E00", ms=5, mec="white", mew=0.8, clip_on=False, zorder=5
    )


def _explain(figure: Figure, bars: Artist) -> None:
    """Draw the legend."""
    from matplotlib.lines import Line2D

    alpha = "\N{GREEK SMALL LETTER ALPHA}"
    signs = {
        "this strategy": bars,
        f"all equilibria ({alpha} from 0 to 1/3)": Line2D(
            [], [], color="black", marker="_", ms=9, mew=1.5, lw=1.0
        ),
        f"the equilibrium with this {alpha} = P(bet on J, opening)": Line2D(
            [], [], color="#D55E00", marker="D", ms=5, mec="white", lw=0
        ),
    }
    figure.legend(
        signs.values(),
        signs.keys(),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )


def strategy_chart(
    solution: Solution | Policy,
    node: str = START,
    *,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw hands by actions at a public node, as a heat map with numbers.

    The number to the right of each hand is the player's own reach: the probability that the
    player's own strategy leads to the node with this hand. Rows of reach 0 are grey, because the
    player never uses their probabilities.

    Args:
        solution: A solution or a policy.
        node: Name of the public node, the public part of the infoset labels: ``"rr"`` in Leduc, or
            ``"start"`` before the first action. :func:`public_nodes` lists them.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on, without a caption; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The node does not exist, or the suffix of ``path`` is not a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    policy: Policy = policy_of(solution)
    public_node = find_node(policy.game, node)
    drawn = _Table(
        title=(
            f"{game_title(policy.game.name)}, player {public_node.player} at {public_node.name!r}"
        ),
        rows_are="hand" if any(public_node.hands) else "",
        rows=tuple(hand or public_node.name for hand in public_node.hands),
        actions=public_node.actions,
        probability=policy.at(public_node.infosets.numbers),
        reach=values(policy.game, policy).of(public_node.infosets).own_reach,
        reach_is="own reach",
    )
    return _heat_map(solution, drawn, path, ax)


def infoset_chart(
    solution: Solution | Policy,
    *,
    player: int | None = None,
    most: int = MAX_ROWS,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw infosets by actions, as a heat map with numbers: for games without private hands.

    The number to the right of each infoset is the probability of reaching it. Cells of actions that
    an infoset does not have are blank.

    Args:
        solution: A solution or a policy.
        player: Player whose infosets are drawn; by default all players.
        most: Largest number of infosets to draw. The infosets with the largest reach are drawn, in
            the game's order. Infosets with a reach below 1 in 2,000 are omitted, unless all are.
        path: File for the picture; its suffix gives the format.
        ax: Axes to draw on, without a caption; by default those of a new figure.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The player does not exist, ``most`` is below 1, or the suffix of ``path`` is not
            a picture format.
        MissingExtraError: Matplotlib is not installed; the message names the extra.
    """
    check_format(path)
    policy: Policy = policy_of(solution)
    game = policy.game
    if player is not None and not 0 <= player < game.n_players:
        raise ValueError(f"player must be from 0 to {game.n_players - 1}, not {brief(player)}")
    if most < 1:
        raise ValueError(f"most must be at least 1, not {brief(most)}")
    policy_values = values(game, policy)
    reached = [
        (reach, actor, label, dict(zip(actions, row, strict=True)))
        for actor in (range(game.n_players) if player is None else [player])
        for rows in policy_values.rows(actor)
        for reach, label, actions, row in zip(
            rows.reach.tolist(),
            rows.infosets.labels,
            rows.infosets.actions,
            rows.probability.tolist(),
            strict=True,
        )
    ]
    # If all infosets are avoided, show them nevertheless.
    indices = [index for index, row in enumerate(reached) if row[0] >= NEVER] or list(
        range(len(reached))
    )
    # The inner sort selects by reach, the outer one restores the game's order.
    indices = sorted(sorted(indices, key=lambda index: -reached[index][0])[:most])
    shown = [reached[index] for index in indices]
    actions = tuple(dict.fromkeys(action for *_, row in shown for action in row))
    table = np.array([[row.get(action, np.nan) for action in actions] for *_, row in shown])
    labels = tuple(f"{label}  (player {actor})" for _, actor, label, _ in shown)
    title = game_title(game.name)
    if len(shown) < len(reached):
        title += f": {len(shown)} of {len(reached):,} infosets, those reached most often"
    reach = np.array([row[0] for row in shown])
    drawn = _Table(title, "infoset", labels, actions, table, reach, "reach")
    return _heat_map(solution, drawn, path, ax)


def has_hands(game: CompiledGame) -> bool:
    """Return whether infosets differ by a private hand, so that :func:`strategy_chart` has rows."""
    if game.nodes is not None:
        return True
    return any(len(node.hands) > 1 for node in public_nodes(game).values())


class _Table(NamedTuple):
    """Strategy to draw: rows by actions."""

    title: str
    rows_are: str
    """Label of the axis of the rows."""
    rows: tuple[str, ...]
    actions: tuple[str, ...]
    probability: np.ndarray
    """float64 (rows, actions): NaN if the row does not have the action."""
    reach: np.ndarray
    """float64 (rows,): reach of each row's infoset."""
    reach_is: str
    """Label of the axis of reaches."""


def _heat_map(
    solution: Solution | Policy, drawn: _Table, path: str | Path | None, axes: Axes | None
) -> Figure:
    """Draw a table of rows by actions; darker cells are more probable."""
    table = drawn.probability
    rows, actions = table.shape
    cell = max(0.62, 0.085 * max(map(len, drawn.actions)))
    names = 0.075 * max(map(len, drawn.rows))
    width = max(5.0, 1.9 + names + cell * actions, 0.085 * len(drawn.title))
    figure, ax = axes_in(axes, width, 1.75 + 0.29 * rows)
    avoided = drawn.reach < NEVER
    shown = np.ma.masked_array(table, np.repeat(avoided[:, None], actions, axis=1))
    from matplotlib import colormaps

    colours = colormaps["Blues"].with_extremes(bad="#ececec")
    ax.imshow(shown, cmap=colours, vmin=0.0, vmax=1.15, aspect="auto")
    for row, column in np.argwhere(~np.isnan(table)).tolist():
        dark = table[row, column] > 0.6 and not avoided[row]
        colour = "white" if dark else "#9a9a9a" if avoided[row] else "#222222"
        text = _percent(table[row, column]).replace("<.01", "")
        ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    for row, column in np.argwhere(np.isnan(table)).tolist():
        ax.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, color="white", lw=0)
    ax.set_xticks(range(actions), drawn.actions)
    ax.set_yticks(range(rows), drawn.rows)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.set_ylabel(drawn.rows_are, labelpad=8, color="#555555")
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(actions - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(rows), [_percent(reach) for reach in drawn.reach])
    right.tick_params(length=0, labelsize=8, labelcolor="#555555")
    right.spines[:].set_visible(False)
    right.set_ylabel(drawn.reach_is, fontsize=8, color="#555555")
    note = "Cells: probability of each action, blank below .005."
    if avoided.any():
        note += f" Grey: never comes here ({drawn.reach_is} 0)."
    if axes is None:
        figure.suptitle(drawn.title, x=0.01, ha="left", fontsize=TITLE_SIZE)
        caption(figure, f"{note} {_caption(solution)}")
    else:
        ax.set_title(drawn.title, fontsize=TITLE_SIZE)
    return written(figure, path)


def _caption(solution: Solution | Policy) -> str:
    """Return the origin and the exploitability of a strategy, as a caption."""
    if isinstance(solution, Policy):
        return f"{game_title(solution.game.name)}."
    return (
        f"{game_title(solution.game.name)}: average strategy of {solution.algorithm} after "
        f"{solution.iterations:,} iterations; exploitability {solution.exploitability:.2g} "
        f"(nash_conv / {solution.game.n_players} players, in units of utility)."
    )
