"""Reader and writer of games in normal form in Gambit's ``.nfg`` format, in both versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

import numpy as np

from .._util.files import replacing
from ..errors import GameError
from ..games.matrix import MatrixGame
from ..model.flat_game import FlatGame
from ..model.team_game import reach_without
from .gambit_text import END, NUMBER, TEXT, Tokens, decimal, decoded, distinct, quoted

MAX_PROFILES = 1_000_000
"""Largest number of combinations of pure strategies that :func:`save_nfg` writes."""


def read_nfg(path: str | Path) -> MatrixGame:
    """Read the game in a ``.nfg`` file.

    Raises:
        FormatError: The file is not in the format; names file, line and column.
        OSError: The file cannot be read.
    """
    return parse_nfg(decoded(Path(path).read_bytes(), path), str(path))


def parse_nfg(text: str, source: str = "nfg") -> MatrixGame:
    """Read the game in a text in the ``.nfg`` format, payoff version or outcome version.

    Raises:
        FormatError: The text is not in the format; names line and column.
    """
    tokens = Tokens(text, source)
    title = tokens.header("NFG", "1")
    players = tokens.texts("the names of the players")
    strategies = _strategies(tokens, len(players))
    counts = [len(player_strategies) for player_strategies in strategies]
    if tokens.kind == TEXT:
        tokens.advance()  # A comment.
    if tokens.at("{"):
        outcomes = _outcomes(tokens, len(players))
        payoffs = _by_outcome(tokens, outcomes, prod(counts))
    else:
        payoffs = _listed(tokens, prod(counts) * len(players))
    # The first player's strategy varies fastest, and the players' payoffs faster still.
    table = np.array(payoffs).reshape(len(players), *counts, order="F")
    actions = [
        distinct([str(strategy) for strategy in player_strategies])
        for player_strategies in strategies
    ]
    # MatrixGame takes an array of two axes as a zero-sum matrix, so drop the axis of one player.
    return MatrixGame(table if len(players) > 1 else table[0], actions=actions, title=title)


def _strategies(tokens: Tokens, players: int) -> list[Sequence[str | int]]:
    """Read the strategies of each player: ``{ 3 2 }`` or ``{ { "a" "b" "c" } { "d" "e" } }``."""
    tokens.expect_mark("{", "before the strategies")
    strategies: list[Sequence[str | int]] = []
    while not tokens.at("}"):
        start = tokens.start
        if tokens.at("{"):
            strategies.append(tokens.texts("the names of the strategies"))
        else:
            strategies.append(range(1, tokens.whole_here("the number of strategies") + 1))
        if not strategies[-1]:
            tokens.fail("a player has at least one strategy", start)
    if len(strategies) != players:
        tokens.fail(f"the file names {players} players, and strategies of {len(strategies)}")
    tokens.expect_mark("}", "after the strategies")
    return strategies


def _outcomes(tokens: Tokens, players: int) -> list[list[float]]:
    """Read ``{ { "win" 1, -1 } ... }``; outcome 0, which pays nothing, comes first."""
    tokens.expect_mark("{", "before the outcomes")
    outcomes = [[0.0] * players]
    while tokens.at("{"):
        tokens.advance()
        tokens.expect(TEXT, "the name of the outcome")
        outcomes.append([float(payoff) for payoff in tokens.payoffs(players)])
    tokens.expect_mark("}", "after the outcomes")
    return outcomes


def _by_outcome(tokens: Tokens, outcomes: list[list[float]], profiles: int) -> list[float]:
    """Read the number of an outcome for every combination of strategies."""
    payoffs: list[float] = []
    n_read = 0
    while tokens.kind == NUMBER:
        start = tokens.start
        outcome = tokens.whole_here("the number of the outcome")
        if outcome >= len(outcomes):
            tokens.fail(f"there is no outcome {outcome}; the file has {len(outcomes) - 1}", start)
        payoffs += outcomes[outcome]
        n_read += 1
    _check_count(tokens, n_read, profiles, "outcomes")
    return payoffs


def _listed(tokens: Tokens, numbers: int) -> list[float]:
    """Read all payoffs of the payoff version."""
    payoffs: list[float] = []
    while tokens.kind == NUMBER:
        payoffs.append(float(tokens.number_here("the payoff")))
        if tokens.at(","):
            tokens.advance()
    _check_count(tokens, len(payoffs), numbers, "payoffs")
    return payoffs


def _check_count(tokens: Tokens, count: int, needed: int, what: str) -> None:
    """Check that the file ends here and has the needed number of payoffs or outcomes."""
    if tokens.kind != END:
        tokens.fail(f"expected {needed:,} {what}, found {tokens.found()} after {count:,}")
    if count != needed:
        tokens.fail(f"the strategies need {needed:,} {what}, but the file has {count:,}")


def save_nfg(game: FlatGame, path: str | Path, *, outcomes: bool = False) -> Path:
    """Write a game in normal form as a ``.nfg`` file.

    A strategy of a player who acts more than once is a plan: an action for each infoset that the
    plan itself does not rule out.  Payoffs are expected values over chance.

    Args:
        game: The game.  If it is in normal form, :func:`tensorcfr.compile_game` reads the same
            arrays back.
        path: File to write; an existing file is replaced.
        outcomes: True to write the outcome version of the format, which lists equal payoffs once
            and refers to them by number.

    Returns:
        ``path`` as a Path.

    Raises:
        GameError: The game has too many combinations of plans; gives their number.
        ValueError: A label cannot be written.
    """
    path = Path(path)
    counts = [_count_plans(game, player) for player in range(game.n_players)]
    if prod(counts) > MAX_PROFILES:
        listed = " x ".join(
            f"{count:,}" if count < 10**15 else f"10^{len(str(count)) - 1}" for count in counts
        )
        raise GameError(
            f"{game.name} has {listed} plans, too many for a .nfg file of at most "
            f"{MAX_PROFILES:,} combinations; use .efg, which has no limit"
        )
    plans = [_plans(game, player) for player in range(game.n_players)]
    table = _payoffs(game, plans)
    with replacing(path) as file:
        for line in _lines(game, plans, table, outcomes=outcomes):
            file.write(line.encode())
    return path


Plan = dict[int, int]
"""Reduced pure strategy: the sequence played at each infoset that the plan does not rule out."""


def _count_plans(game: FlatGame, player: int) -> int:
    """Return the number of plans of a player."""
    first, end = game.form.player_infosets[player : player + 2].tolist()
    parent = game.form.infoset_parent.tolist()
    # The count of a sequence is the product over the infosets that follow it; an infoset adds up
    # its actions.  Parents have smaller numbers, so infosets run from the deepest up.
    count = [1] * game.n_sequences
    for infoset in reversed(range(first, end)):
        count[parent[infoset]] *= sum(count[game.sequences(infoset)])
    return count[int(game.form.player_sequences[player])]


def _sequences(game: FlatGame, infoset: int) -> range:
    """Return the sequences of an infoset's actions, in order."""
    return range(game.n_sequences)[game.sequences(infoset)]


def _plans(game: FlatGame, player: int) -> list[Plan]:
    """Return all plans of a player."""
    first, end = game.form.player_infosets[player : player + 2].tolist()
    parent = game.form.infoset_parent.tolist()
    root = int(game.form.player_sequences[player])
    plans: list[Plan] = [{}]
    # Infosets are numbered by level, so every plan has already chosen the actions that lead to an
    # infoset when it is processed.
    for infoset in range(first, end):
        sequences = _sequences(game, infoset)
        longer: list[Plan] = []
        for plan in plans:
            leads = parent[infoset] in {root, *plan.values()}
            longer += [{**plan, infoset: sequence} for sequence in sequences] if leads else [plan]
        plans = longer
    return plans


def _payoffs(game: FlatGame, plans: list[list[Plan]]) -> np.ndarray:
    """Compute the payoffs, float64 (players, plans of player 0, plans of player 1, ...)."""
    terminal, players = game.tree.terminal, range(game.n_players)
    chance = reach_without(game, players, np.ones(game.n_sequences))[terminal]
    table = chance * (game.tree.utility.T * game.unit)
    for player, player_plans in enumerate(plans):
        others = [opponent for opponent in players if opponent != player]
        plays = np.zeros((len(player_plans), game.n_sequences))
        plays[:, game.form.player_sequences[player]] = 1.0
        for row, plan in zip(plays, player_plans, strict=True):
            row[list(plan.values())] = 1.0
        reached = [reach_without(game, others, row)[terminal] > 0.0 for row in plays]
        # (players, plans so far, 1, terminals) times (plans, terminals): the last axis stays the
        # terminals, which are summed at the end.
        table = table[..., None, :] * np.array(reached)
    return table.sum(axis=-1)


def _lines(
    game: FlatGame,
    plans: list[list[Plan]],
    table: np.ndarray,
    *,
    outcomes: bool,
) -> Iterator[str]:
    """Yield the lines of the file."""
    players = " ".join(quoted(f"Player {player}") for player in range(game.n_players))
    yield f"NFG 1 R {quoted(game.name)} {{ {players} }}\n{{\n"
    for player, player_plans in enumerate(plans):
        has_one_infoset = int(np.diff(game.form.player_infosets)[player]) == 1
        labels = (quoted(_plan_label(game, plan, has_one_infoset)) for plan in player_plans)
        yield f"  {{ {' '.join(labels)} }}\n"
    yield "}\n"
    by_profile = table.reshape(game.n_players, -1, order="F").T
    if not outcomes:
        for row in by_profile.tolist():
            yield " ".join(map(decimal, row)) + "\n"
        return
    distinct_pay, number = np.unique(by_profile, axis=0, return_inverse=True)
    yield "{\n"
    for index, row in enumerate(distinct_pay.tolist(), start=1):
        yield f'  {{ "{index}" {", ".join(map(decimal, row))} }}\n'
    yield "}\n"
    yield "\n".join(map(str, (number.ravel() + 1).tolist())) + "\n"


def _plan_label(game: FlatGame, plan: Plan, has_one_infoset: bool) -> str:
    """Return the label of a plan: ``bet``, or ``K:bet Kp:call`` if there are several infosets."""
    chosen = [
        (infoset, game.infoset_actions[infoset][_sequences(game, infoset).index(sequence)])
        for infoset, sequence in plan.items()
    ]
    if has_one_infoset:
        return chosen[0][1]
    return " ".join(f"{game.infoset_labels[infoset]}:{action}" for infoset, action in chosen) or "-"
