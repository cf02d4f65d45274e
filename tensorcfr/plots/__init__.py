"""Pictures of solves and strategies; the extra ``tensorcfr[plot]``.

:func:`convergence` draws single solves, :func:`sweep_curves` a sweep, :func:`kuhn_stages` and
:func:`strategy_chart` strategies.  All of them return a figure without showing it.
"""

from .charts import find_node, is_kuhn, kuhn_stages, public_nodes, strategy_chart
from .convergence import convergence
from .style import check_format
from .sweeps import sweep_curves

__all__ = [
    "check_format",
    "convergence",
    "find_node",
    "is_kuhn",
    "kuhn_stages",
    "public_nodes",
    "strategy_chart",
    "sweep_curves",
]
