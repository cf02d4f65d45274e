"""Pictures; the extra ``tensorcfr[plot]``.

:func:`convergence` draws single solves, :func:`sweep_curves` a sweep, :func:`kuhn_stages` and
:func:`strategy_chart` strategies.  All return the figure and show nothing.
"""

from ..analysis.public_nodes import find_node, public_nodes
from .charts import is_kuhn, kuhn_stages, strategy_chart
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
