"""Compiled games whose infosets merge infosets of a full game, and the lifting of strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np

from .._util.argument_checks import Kind, checked
from ..compilers.derived_rules import forwards
from ..model.arrays import HistoryTree
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.flat_views import FlatViews
from ..model.policy import Policy
from ..solvers.solution import Solution

OF_THE_ABSTRACTION = (
    "This holds in the abstraction.  In the full game its strategies may be exploitable, and a "
    "finer abstraction may be more exploitable: evaluate(full_game, lift(solution)) measures it."
)


@forwards("is_of_cards", "defaults", to="original")
@dataclass(frozen=True, eq=False, repr=False)
class AbstractGame(FlatGame):
    """A compiled game whose infosets each merge several infosets of a full game.

    Make one with :func:`abstract` or :func:`abstract_hands`. It is solved, evaluated and saved like
    any other game.
    """

    full: FlatGame = field(kw_only=True, repr=False)
    """The full game, flat."""
    original: CompiledGame = field(kw_only=True, repr=False)
    """The full game as the caller gave it, chunked or flat."""
    infoset: np.ndarray = field(kw_only=True, repr=False)
    """int64 (infosets of the full game,): infoset of the abstraction that contains each."""

    @cached_property
    def tree(self) -> HistoryTree:
        """History tree of the abstraction.

        If the abstraction was made without histories, it is the full game's tree with the infosets
        of the abstraction.
        """
        if not self._is_folded:
            return super().tree
        tree = self.full.tree
        infoset = tree.infoset.copy()
        infoset[infoset >= 0] = self.infoset[infoset[infoset >= 0]]
        infoset.flags.writeable = False
        return tree._replace(infoset=infoset)

    def freeze(self) -> None:
        """Make every array read-only."""
        super().freeze()
        self.infoset.flags.writeable = False

    @property
    def _is_folded(self) -> bool:
        """True if the game was made without histories and public tree and uses the full game's."""
        return self.histories is None and self.public is None

    @property
    def by_histories(self) -> bool:
        """True if evaluations use the history tree; see :attr:`FlatGame.by_histories`."""
        return super().by_histories or self._is_folded

    @property
    def _counted(self) -> FlatViews:
        return self.full._counted if self._is_folded else self

    @property
    def caveat(self) -> str:
        """Caveat of the game and of the abstraction; see :attr:`FlatGame.caveat`."""
        return " ".join(filter(None, (super().caveat, OF_THE_ABSTRACTION)))

    def lifted(self, policy: Policy) -> Policy:
        """Lift a policy of this game to the full game."""
        full_policy = Policy(self.full, np.array(policy.probabilities[self.sequence]))
        return full_policy.moved_to(self.original)

    @cached_property
    def sequence(self) -> np.ndarray:
        """int64 (sequences of the full game,): sequence of the abstraction that contains each."""
        return self.full.form.map_sequences(self.form, self.infoset)


SOURCE = Kind((Policy, Solution), "a solution or a policy of an abstraction")


@checked()
def lift(source: Annotated[Solution | Policy, SOURCE]) -> Policy:
    """Lift a strategy of an abstraction to the full game.

    Every infoset of the full game plays the strategy of its bucket. Evaluating the result in the
    full game is exact:

    >>> from tensorcfr import compile_game, exploitability, solve
    >>> game = compile_game("kuhn")
    >>> from tensorcfr.abstraction import abstract
    >>> small = abstract(game, infosets=lambda label: label.replace("Q", "J"))
    >>> exploitability(game, lift(solve(small, "lp"))) > 0.1
    True

    Args:
        source: A solution, whose average strategy is lifted, or a policy.

    Raises:
        ValueError: The game is not an abstraction, or does not know its full game because it was
            loaded from a file without ``game=``.
    """
    policy = source.policy if isinstance(source, Solution) else source
    lifted: Callable[[Policy], Policy] | None = getattr(policy.game, "lifted", None)
    if lifted is None:
        raise ValueError(
            f"{policy.game.name} is not an abstraction, or was loaded from a file without "
            "game=: pass the abstraction as game= when you load it"
        )
    return lifted(policy)
