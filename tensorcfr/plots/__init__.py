"""Pictures of solves and strategies; the extra ``tensorcfr[plot]``.

:func:`convergence` draws single solves and :func:`sweep_curves` a sweep. :func:`kuhn_stages`,
:func:`strategy_chart` and :func:`infoset_chart` draw strategies, and :func:`draw` the history tree
of a small game. :func:`hand_grid`, :func:`runout_grid` and :func:`change_grid` draw spots of
hold'em, and :func:`gain_against_risk` responses to a model of a player. All return the figure and
show nothing. :class:`LiveProgress` shows a solve in a notebook while it runs.
"""

from ..analysis.named_nodes import find_node, public_nodes
from .charts import has_hands, infoset_chart, is_kuhn, kuhn_stages, strategy_chart
from .convergence import convergence
from .depth_grids import depth_grid
from .hand_grids import change_grid, draw_line, hand_grid, runout_grid
from .iteration_trees import iteration_tree
from .live import LiveProgress
from .response_curves import gain_against_risk
from .style import check_format
from .sweep_plots import sweep_curves
from .trees import draw, tree_source

__all__ = [
    "LiveProgress",
    "change_grid",
    "check_format",
    "convergence",
    "depth_grid",
    "draw",
    "draw_line",
    "find_node",
    "gain_against_risk",
    "hand_grid",
    "has_hands",
    "infoset_chart",
    "is_kuhn",
    "iteration_tree",
    "kuhn_stages",
    "public_nodes",
    "runout_grid",
    "strategy_chart",
    "sweep_curves",
    "tree_source",
]
