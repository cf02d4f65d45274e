"""Import and export of games and policies: files, and the objects of other libraries."""

from ..model.function_policies import Batch, Batched, ByLine, Situation
from ..model.sequence_table import SequenceTable
from .efg import read_efg, save_efg
from .gambit import from_gambit, policy_to_gambit, to_gambit
from .game_sources import resolve_rules
from .nfg import read_nfg, save_nfg
from .openspiel_policies import (
    from_openspiel,
    openspiel_bot,
    policy_to_openspiel,
    policy_to_pyspiel,
    to_openspiel,
)
from .other_spots import read_spot_options
from .policies import find_policy, policy_table, read_policy, save_policy
from .spot_files import parse_spot, read_spot, save_spot, spot_text

__all__ = [
    "Batch",
    "Batched",
    "ByLine",
    "SequenceTable",
    "Situation",
    "find_policy",
    "from_gambit",
    "from_openspiel",
    "openspiel_bot",
    "parse_spot",
    "policy_table",
    "policy_to_gambit",
    "policy_to_openspiel",
    "policy_to_pyspiel",
    "read_efg",
    "read_nfg",
    "read_policy",
    "read_spot",
    "read_spot_options",
    "resolve_rules",
    "save_efg",
    "save_nfg",
    "save_policy",
    "save_spot",
    "spot_text",
    "to_gambit",
    "to_openspiel",
]
