"""Played hands: read and replayed, counted, turned into models and leak reports, written."""

from .counting import DecisionCounts, Frequency, count_decisions
from .leaks import Leak, LeakReport, find_leaks
from .models import HabitPrice, HandModel, ModelledDecision, habit_prices, hand_model
from .played_hands import Hand, PlayedDecision
from .pricing import PricedDecision
from .reading import Failure, HandsRead, parse_hands, read_hands
from .situations import HandSituation
from .spots_of_hands import ranges_of_hands
from .writing import hands_of_plays, phh_text, save_hands, stars_text

__all__ = [
    "DecisionCounts",
    "Failure",
    "Frequency",
    "HabitPrice",
    "Hand",
    "HandModel",
    "HandSituation",
    "HandsRead",
    "Leak",
    "LeakReport",
    "ModelledDecision",
    "PlayedDecision",
    "PricedDecision",
    "count_decisions",
    "find_leaks",
    "habit_prices",
    "hand_model",
    "hands_of_plays",
    "parse_hands",
    "phh_text",
    "ranges_of_hands",
    "read_hands",
    "save_hands",
    "stars_text",
]
