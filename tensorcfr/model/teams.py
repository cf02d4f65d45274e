"""Teams: two groups of players that together are all players."""

from __future__ import annotations

from collections.abc import Sequence

from .._util.argument_checks import Kind, Whole

Teams = Sequence[Sequence[int]]
"""Two groups of players, by number, that together are all players."""
TEAMS = Kind((Sequence,), "two groups of players")


def name_teams(game: str, teams: tuple[tuple[int, ...], ...]) -> str:
    """Return a short name of a game with its teams: ``kuhn(players=4), teams 0+2 v 1+3``."""
    return f"{game}, teams " + " v ".join("+".join(map(str, team)) for team in teams)


def player_of(game: str, n_players: int) -> Whole:
    """Return the requirement of an argument that is a player of a game."""
    return Whole(0, n_players - 1, f"a player of {game}, a whole number")


def check_teams(game: str, n_players: int, teams: Teams) -> tuple[tuple[int, ...], ...]:
    """Check teams and return them as tuples.

    Args:
        game: Name of the game, for errors.
        n_players: Number of its players.
        teams: The teams.

    Raises:
        ValueError: There are not two teams; a player is in both or in none; a number is not a
            player of the game.
        TypeError: A team is not a group of numbers.
    """
    if len(teams) != 2:
        raise ValueError(f"there must be two teams, not {len(teams)}")
    player = player_of(game, n_players)
    sides = tuple(
        tuple(player(f"teams[{k}]", member) for member in TEAMS(f"teams[{k}]", team))
        for k, team in enumerate(teams)
    )
    named = [member for side in sides for member in side]
    for number in range(n_players):
        if (count := named.count(number)) != 1:
            where = "in no team" if count == 0 else "in the teams more than once"
            raise ValueError(f"every player must be in one team, and player {number} is {where}")
    if not all(sides):
        raise ValueError("a team must have at least one player")
    return sides
