"""Analysis of solves: values of actions, comparisons, plays, regrets and single iterations."""

from ..evaluation.player_models import model_locks
from .board_reports import BoardReport, solve_boards
from .bounds import (
    Interval,
    LocalBestResponse,
    SampledValues,
    local_best_response,
    sampled_values,
)
from .comparison import Comparison, Difference, HeadToHead, compare, head_to_head
from .depth_charts import DepthChart, depth_chart
from .diagnosis import Departure, Diagnosis, Mistake, diagnose
from .hand_tables import HandTable, Runouts, SolvedSpot, hand_table
from .history_values import HistoryValues, history_values
from .iteration_events import IterationEvents, iteration_events
from .luck import AdjustedPlays, aivat
from .other_utilities import IncentivePrice, incentive_prices, restate
from .policy_values import Exactness, Values, best_responses, values
from .prize_tables import PrizeTable, prize_table
from .reached_regrets import ConditionalRegrets, RegretSpread, conditional_regrets
from .regret_bounds import RegretPoint, regrets
from .responses import RobustResponses, robust_responses
from .simulation import Plays, simulate
from .table_changes import TableChange, table_change
from .walkthroughs import Walkthrough, walkthrough

__all__ = [
    "AdjustedPlays",
    "BoardReport",
    "Comparison",
    "ConditionalRegrets",
    "Departure",
    "DepthChart",
    "Diagnosis",
    "Difference",
    "Exactness",
    "HandTable",
    "HeadToHead",
    "HistoryValues",
    "IncentivePrice",
    "Interval",
    "IterationEvents",
    "LocalBestResponse",
    "Mistake",
    "Plays",
    "PrizeTable",
    "RegretPoint",
    "RegretSpread",
    "RobustResponses",
    "Runouts",
    "SampledValues",
    "SolvedSpot",
    "TableChange",
    "Values",
    "Walkthrough",
    "aivat",
    "best_responses",
    "compare",
    "conditional_regrets",
    "depth_chart",
    "diagnose",
    "hand_table",
    "head_to_head",
    "history_values",
    "incentive_prices",
    "iteration_events",
    "local_best_response",
    "model_locks",
    "prize_table",
    "regrets",
    "restate",
    "robust_responses",
    "sampled_values",
    "simulate",
    "solve_boards",
    "table_change",
    "values",
    "walkthrough",
]
