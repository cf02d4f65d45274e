"""Draw strategies: the four decisions of Kuhn poker, and hands by actions at a public node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import suggest
from ..kernels.evaluation import realization_plan
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..solvers.solution import Solution
from .style import caption, check_format, light_grid, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START = "start"
"""Name of the public node before any action."""

NEVER = 5e-4
"""Own reach below which the player's own strategy counts as avoiding an infoset."""

FEW_CARDS = 6
"""Largest number of cards for which "<.01" fits below a bar."""

KUHN_STAGES = {
    START: "player 0 opens",
    "p": "player 1, facing a check",
    "b": "player 1, facing a bet",
    "pb": "player 0, facing a bet\nafter a check",
}
"""The four decisions of two-player Kuhn poker, by public node."""


@dataclass(frozen=True)
class PublicNode:
    """Infosets that differ only in the private hand."""

    name: str
    """The public part of their labels; :data:`START` if it is empty."""
    player: int
    """The acting player."""
    actions: tuple[str, ...]
    hands: tuple[str, ...]
    """The private hand of each infoset; an empty text if the label does not begin with one."""
    infosets: tuple[int, ...]


def public_nodes(game: CompiledGame) -> dict[str, PublicNode]:
    """The public nodes of a game by name, nodes of player 0 first.

    In games of private hands and a public tree, an infoset label is the hand and a public part.
    The hand is the longest chance outcome at the beginning of the label.  An infoset whose label
    begins with no outcome is a public node by itself.
    """
    rank = {str(label): place for place, label in enumerate(game.outcome_labels)}
    lengths = sorted(set(map(len, rank)), reverse=True)
    groups: dict[tuple[int, str], list[tuple[int, str, int]]] = {}
    for infoset, label in enumerate(game.infoset_labels):
        hand = next((label[:n] for n in lengths if label[:n] in rank), "")
        key = int(game.infoset_player[infoset]), label.removeprefix(hand).strip()
        groups.setdefault(key, []).append((rank.get(hand, -1), hand, infoset))
    owners = Counter(public for _, public in groups)
    nodes = {}
    for (player, public), members in groups.items():
        name = public or START
        if owners[public] > 1:
            name += f" (player {player})"
        members.sort()
        nodes[name] = PublicNode(
            name=name,
            player=player,
            actions=game.infoset_actions[members[0][2]],
            hands=tuple(hand for _, hand, _ in members),
            infosets=tuple(infoset for _, _, infoset in members),
        )
    return nodes


def is_kuhn(game: CompiledGame) -> bool:
    """Whether :func:`kuhn_stages` can draw the game: Kuhn poker for two players with any deck."""
    nodes = public_nodes(game)
    return game.n_players == 2 and (
        {name: node.actions for name, node in nodes.items()}
        == dict.fromkeys(KUHN_STAGES, ("pass", "bet"))
    )


def kuhn_stages(solution: Solution | Policy, *, path: str | Path | None = None) -> Figure:
    """Draw the four decisions of two-player Kuhn poker: the probability of betting, by card.

    For three cards the picture shows all equilibria (H. W. Kuhn, "A simplified two-person poker",
    1950): one strategy of player 1, and a family of strategies of player 0.  The parameter of the
    family is ``alpha`` between 0 and 1/3, the probability of opening with a bet on the jack.

    Args:
        solution: A solution or a policy of two-player Kuhn poker with any deck.
        path: File for the picture; its suffix gives the format.

    Returns:
        The figure, not shown.

    Raises:
        ValueError: The game is another one, or the suffix of ``path`` is no picture format.
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
    figure = new_figure(max(8.8, 1.1 * len(cards)), 3.9)
    panels = figure.subplots(1, 4, sharey=True)
    width = 0.62
    for ax, (name, title) in zip(panels, KUHN_STAGES.items(), strict=True):
        places = np.arange(len(cards))
        bars = ax.bar(places, betting[name], width, color="#7DB7DE", label="this strategy")
        for place, chance in enumerate(betting[name]):
            text = _percent(chance)
            if len(cards) > FEW_CARDS:
                text = {"<.01": "", ">.99": "1"}.get(text, text)
            ax.annotate(text, (place, 0), (0, -3), textcoords="offset points", **_SMALL)
        if len(cards) == 3:
            _draw_family(ax, name, betting[START][0], width)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(places, cards)
        ax.tick_params(axis="x", length=0, pad=12)
        ax.set_ylim(0, 1.03)
        light_grid(ax)
        ax.set_axisbelow(True)
        ax.grid(visible=False, axis="x")
        ax.set_xlabel("card")
    panels[0].set_ylabel("probability of betting\n(facing a bet: of calling)")
    if len(cards) == 3:
        _explain(figure, bars)
    caption(figure, _caption(solution))
    if path is not None:
        figure.savefig(path)
    return figure


_SMALL = {"ha": "center", "va": "top", "fontsize": 8.0, "color": "#333333"}


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
    solution: Solution | Policy, node: str = START, *, path: str | Path | None = None
) -> Figure:
    """Draw hands by actions at a public node, as a heat map with numbers.

    The number to the right of each hand is the player's own reach: the probability that the
    player's own strategy leads to the node with this hand.  Rows of reach 0 are grey, because the
    player never uses their probabilities.

    Args:
        solution: A solution or a policy.
        node: Name of the public node, the public part of its infoset labels: ``"rr"`` in
            Leduc, ``"start"`` before any action.  :func:`public_nodes` lists the names.
        path: File for the picture; its suffix gives the format.

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
    return _heat_map(solution, found, table, reach, path)


def find_node(game: CompiledGame, name: str) -> PublicNode:
    """The public node of a given name.

    Raises:
        ValueError: The node does not exist; suggests similar names, or lists some names.
    """
    nodes = public_nodes(game)
    wanted = name.strip() or START
    if wanted in nodes:
        return nodes[wanted]
    some = dict.fromkeys(nodes) if len(nodes) <= 12 else dict.fromkeys(list(nodes)[:12])
    hint = suggest(wanted, nodes)
    if hint.startswith("there are"):
        hint = f"there are, among {len(nodes):,}: {', '.join(map(repr, some))}"
    raise ValueError(f"{game.name} has no public node {name!r}; {hint}")


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
) -> Figure:
    """Draw a table of hands (rows) by actions (columns); darker cells are more probable."""
    hands, actions = table.shape
    longest = max(map(len, node.actions))
    cell = max(0.62, 0.085 * longest)
    figure = new_figure(max(4.2, 2.2 + cell * actions), 1.75 + 0.29 * hands)
    ax = figure.add_subplot()
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
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    note = "Cells: probability of each action, blank below .005."
    if avoided.any():
        note += " Grey: the player's own strategy never comes here."
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
