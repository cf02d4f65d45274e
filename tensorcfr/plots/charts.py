"""Draw strategies: the four decisions of Kuhn poker, and hands by actions at a public node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.public_nodes import START, PublicNode, find_node, public_nodes
from ..kernels.evaluation import realization_plan
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..solvers.solution import Solution
from .style import caption, check_format, figure_of, light_grid, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEVER = 5e-4
"""Own reach below which the player's own strategy counts as avoiding an infoset."""

FEW_CARDS = 6
"""Largest number of cards for which "<.01" fits below a bar."""

MOST_OF_KUHN = 10_000
"""Infosets of a game that is compared with Kuhn poker, at most."""

KUHN_STAGES = {
    START: "player 0 opens",
    "p": "player 1, facing a check",
    "b": "player 1, facing a bet",
    "pb": "player 0, facing a bet\nafter a check",
}
"""The four decisions of two-player Kuhn poker, by public node."""


def is_kuhn(game: CompiledGame) -> bool:
    """Whether :func:`kuhn_stages` can draw this game: two players, one bet, any deck."""
    if game.n_players != 2 or game.n_infosets > MOST_OF_KUHN:
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
    """The four decisions of two-player Kuhn poker: the probability of betting, by card.

    For three cards the picture shows all equilibria (H. W. Kuhn, "A simplified two-person poker",
    1950): one strategy of player 1, and a family of strategies of player 0.  The parameter of the
    family is ``alpha`` between 0 and 1/3, the probability of opening with a bet on the jack.

    Args:
        solution: A solution or a policy of two-player Kuhn poker, any deck.
        path: File to write the picture to; its ending says the format.
        ax: Four axes of a figure of yours to draw in, one per decision; without caption.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: It is another game, there are not four axes, or the ending of ``path`` is no
            picture format.
        MissingExtraError: Matplotlib is not installed; names the extra.
    """
    if path is not None:
        check_format(path)
    policy = solution.policy if isinstance(solution, Solution) else solution
    if not is_kuhn(policy.game):
        raise ValueError(f"{policy.game.name} is not two-player Kuhn poker; use strategy_chart")
    nodes = public_nodes(policy.game)
    betting = {
        name: [policy.probabilities[policy.game.sequences(i)][1] for i in nodes[name].infosets]
        for name in KUHN_STAGES
    }
    cards = nodes[START].hands
    if ax is None:
        figure = new_figure(max(8.8, 1.1 * len(cards)), 3.9)
        panels: list[Any] = list(figure.subplots(1, 4, sharey=True))
    else:
        panels = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(panels) != len(KUHN_STAGES):
            raise ValueError(f"ax must be {len(KUHN_STAGES)} axes, not {len(panels)}")
        figure = figure_of(panels[0])
    width = 0.62
    for panel, (name, title) in zip(panels, KUHN_STAGES.items(), strict=True):
        places = np.arange(len(cards))
        bars = panel.bar(places, betting[name], width, color="#7DB7DE", label="this strategy")
        for place, chance in enumerate(betting[name]):
            text = _percent(chance)
            if len(cards) > FEW_CARDS:
                text = {"<.01": "", ">.99": "1"}.get(text, text)
            panel.annotate(text, (place, 0), (0, -3), textcoords="offset points", **_SMALL)
        if len(cards) == 3:
            _draw_family(panel, name, betting[START][0], width)
        panel.set_title(title, fontsize=10)
        panel.set_xticks(places, cards)
        panel.tick_params(axis="x", length=0, pad=12)
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
    if path is not None:
        figure.savefig(path)
    return figure


_SMALL: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8.0, "color": "#333333"}


def _percent(probability: float) -> str:
    """Two decimals; a number near 0 or 1 is not rounded to it."""
    if 0 < probability < 0.005:
        return "<.01"
    if 0.995 <= probability < 1 - 1e-9:
        return ">.99"
    return f"{probability:.2f}".replace("0.", ".") if probability < 0.995 else "1"


def _family(alpha: float) -> dict[str, tuple[float, float, float]]:
    """The equilibrium of a given ``alpha``: probabilities of betting with J, Q, K, by stage."""
    third = 1 / 3
    return {
        START: (alpha, 0.0, 3 * alpha),
        "p": (third, 0.0, 1.0),
        "b": (0.0, third, 1.0),
        "pb": (0.0, alpha + third, 1.0),
    }


def _draw_family(ax: Axes, stage: str, alpha: float, width: float) -> None:
    """Draw all equilibria as brackets, and the equilibrium nearest to a strategy as diamonds."""
    least, most = _family(0.0)[stage], _family(1 / 3)[stage]
    member = _family(min(max(alpha, 0.0), 1 / 3))[stage]
    half = width / 2 + 0.06
    for place, (low, high) in enumerate(zip(least, most, strict=True)):
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
    player's own strategy leads to the node with this hand.  Rows of reach 0 are grey, because the
    player never uses their probabilities.

    Args:
        solution: A solution or a policy.
        node: Name of the public node, the public part of the infoset labels: ``"rr"`` in
            Leduc; ``"start"`` is where nothing has been done.  :func:`public_nodes` lists them.
        path: File to write the picture to; its ending says the format.
        ax: Axes of a figure of yours to draw in; without caption.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The node does not exist, or the suffix of ``path`` is no picture format.
        MissingExtraError: Matplotlib is not installed; names the extra.
    """
    if path is not None:
        check_format(path)
    policy = solution.policy if isinstance(solution, Solution) else solution
    found = find_node(policy.game, node)
    table = np.array([policy.probabilities[policy.game.sequences(i)] for i in found.infosets])
    reach = _own_reach(policy)[list(found.infosets)]
    return _heat_map(solution, found, table, reach, path, ax)


def _own_reach(policy: Policy) -> np.ndarray:
    """Own reach of each infoset under its player's strategy, float64 (infosets,)."""
    form = policy.game.form
    reach = np.empty(policy.game.n_sequences)
    realization_plan(form, policy.probabilities, reach)
    return reach[form.infoset_parent]


def _heat_map(
    solution: Solution | Policy,
    node: PublicNode,
    table: np.ndarray,
    reach: np.ndarray,
    path: str | Path | None,
    given: Axes | None,
) -> Figure:
    """Draw a table of hands (rows) by actions (columns); darker cells are more probable."""
    hands, actions = table.shape
    longest = max(map(len, node.actions))
    cell = max(0.62, 0.085 * longest)
    if given is None:
        figure = new_figure(max(4.2, 2.2 + cell * actions), 1.75 + 0.29 * hands)
        ax = figure.add_subplot()
    else:
        ax, figure = given, figure_of(given)
    avoided = reach < NEVER
    shown = np.ma.masked_array(table, np.repeat(avoided[:, None], actions, axis=1))
    from matplotlib import colormaps

    colours = colormaps["Blues"].with_extremes(bad="#ececec")
    ax.imshow(shown, cmap=colours, vmin=0.0, vmax=1.15, aspect="auto")
    for row in range(hands):
        for column in range(actions):
            dark = table[row, column] > 0.6 and not avoided[row]
            colour = "white" if dark else "#9a9a9a" if avoided[row] else "#222222"
            text = _percent(table[row, column]).replace("<.01", "")
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(range(actions), node.actions)
    ax.set_yticks(range(hands), [hand or node.name for hand in node.hands])
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.set_ylabel("hand" if any(node.hands) else "", labelpad=8, color="#555555")
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(actions - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(hands - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(hands), [_percent(own) for own in reach])
    right.tick_params(length=0, labelsize=8, labelcolor="#555555")
    right.spines[:].set_visible(False)
    right.set_ylabel("own reach", fontsize=8, color="#555555")
    title = f"{solution.game.name}, player {node.player} at {node.name!r}"
    if given is None:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    else:
        ax.set_title(title, fontsize=10)
    note = "Cells: probability of each action, blank below .005."
    if avoided.any():
        note += " Grey: the player's own strategy never comes here."
    if given is None:
        caption(figure, f"{note} {_caption(solution)}")
    if path is not None:
        figure.savefig(path)
    return figure


def _caption(solution: Solution | Policy) -> str:
    """Origin and exploitability of a strategy."""
    if isinstance(solution, Policy):
        return f"{solution.game.name}."
    return (
        f"{solution.game.name}: average strategy of {solution.algorithm} after "
        f"{solution.iterations:,} iterations; exploitability {solution.exploitability:.2g} "
        f"(nash_conv / {solution.game.n_players} players, in units of utility)."
    )
