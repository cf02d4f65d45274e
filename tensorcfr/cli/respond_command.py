"""Command ``respond``, which computes responses to a model of a player."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis import incentive_prices, robust_responses
from ..compilers import compile_game
from ..formats import save_policy
from ..formats.policies import FORMATS, read_json
from ..hands import habit_prices
from ..model.layout import Layout
from ..model.sequence_table import find_format
from ..solvers.solution import Solution
from ..solvers.solver_arguments import AUTO
from . import argument_parsers, report
from .declared_options import Json, LargeNumber, Output, Threads, command
from .json_output import print_json


@command()
def respond(
    source: str,
    model: Path | None = None,
    *,
    player: Annotated[int, typer.Option(min=0, max=1)] = 0,
    counts: Path | None = None,
    habits: Annotated[list[str] | None, typer.Option("--habit")] = None,
    incentives: Annotated[list[str] | None, typer.Option("--incentive")] = None,
    method: str = "data-biased",
    weights: str = "0.25,0.5,0.75,0.9",
    max_loss: str | None = None,
    full_at: float = 10,
    algorithm: str | None = None,
    iters: LargeNumber = None,
    target: str | None = None,
    time_limit: float | None = None,
    threads: Threads = AUTO,
    memory_limit: str | None = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Compute responses to a model of a player, at a stated risk.

    The table has a row for each trust in the model: the value of the response against the model,
    and against a best response. For example 'tensorcfr respond leduc weak.csv --max-loss 0.05'.

    Options:
        source: A game, 'leduc' or game.efg, or a solution (.npz) of it.
        model: The model: a strategy or a solution (csv, json, parquet, npz).
        player (NUMBER): Compute strategies of this player.
        habits (TEXT): Make the model from the solution of a spot (.npz) and this habit, 'call +10%'
            or 'river bet bluffs =0%', and print its price; repeatable.
        method: 'restricted': the other player is the model in a share of all games; 'data-biased':
            in a share of the decisions, by the counts.
        weights (W,W,...): Trust the model so much, from 0 to 1.
        max_loss (AMOUNT): Search for the largest trust that risks at most this against a best
            response: a number in the game's own unit, or '1%' of the pot.
        output: Write the response with the largest gain, within --max-loss, to this file (csv,
            json, parquet, npz).

    Settings:
        as_json, iters, threads, time_limit
        counts (FILE): Take the model from counts, where there are any: a JSON object of infosets,
            actions and counts.
        incentives (TEXT): Make the model by paying the player for an action, 'call +2' or 'river
            bet -5 after check', in a game whose solution (.npz) is given, and print the price;
            repeatable.
        full_at: Trust counts of this size fully.
        algorithm: Solve by this algorithm; by default 'lp' in flat games.
    """
    if model is None and counts is None and not (habits or incentives):
        raise ValueError("give the file of a model, or --counts")
    if habits and incentives:
        raise ValueError("--habit and --incentive cannot be combined")
    if (habits or incentives) and (model is not None or not source.endswith(".npz")):
        option = "--habit" if habits else "--incentive"
        raise ValueError(f"{option} takes a solution (.npz) in place of a game and a model")
    argument_parsers.check_target("--output", output)
    if output is not None:
        find_format(output, None, FORMATS)
    limit = argument_parsers.read_memory_limit(memory_limit)
    if source.endswith(".npz"):
        solution = Solution.load(source, registered=False, memory_limit=limit)
        game = solution.game
    else:
        game = compile_game(source, memory_limit=limit)
    named_model: Any = None if model is None else str(model)
    options: dict[str, Any] = {"iters": iters, "target": target, "time_limit": time_limit}
    prices: list[dict[str, Any]] = []
    if habits:
        prices = [price._asdict() for price in habit_prices(solution, 1 - player, habits)]
    elif incentives:
        rules = {name: value for name, value in options.items() if value is not None}
        rules |= {"threads": threads, "memory_limit": limit}
        of_incentives = incentive_prices(solution, 1 - player, incentives, **rules)
        prices = [price._asdict() for price in of_incentives]
    if prices:
        named_model = prices[-1].pop("policy")
    is_flat = game.layout != Layout.CHUNKS
    # Linear programs take neither; the limit has applied to the game.
    if not (is_flat and algorithm in (None, "lp") and set(options.values()) == {None}):
        options |= {"threads": threads, "memory_limit": limit}
    responses = robust_responses(
        game,
        None if counts is None else read_json(counts),
        player,
        model=named_model,
        method=method,
        weights=argument_parsers.read_weights(weights),
        max_loss=max_loss,
        full_at=full_at,
        algorithm=algorithm,
        **{name: value for name, value in options.items() if value is not None},
    )
    best = responses.chosen
    if output is not None:
        save_policy(responses.policies[best], output)
    if as_json:
        columns = ("weights", "against_model", "worst", "gain", "risk", "gaps")
        document: dict[str, Any] = {"game": game.name, "player": player, "method": method}
        document |= {name: getattr(responses, name).tolist() for name in columns}
        if prices:
            hidden = ("policy", "solution")
            document["prices"] = [
                {name: value for name, value in price.items() if name not in hidden}
                for price in prices
            ]
        print_json(document | {"chosen": best})
        return
    for price in prices:
        paid = ""
        if incentives:
            paid = f"; paid {price['paid']:.4g} in a play, {price['paid_before']:.4g} before"
        report.print_lines(
            f"{'; '.join(price['incentives' if incentives else 'habits'])}: costs player "
            f"{1 - player} {price['against_solution']:.4g} against the solution, "
            f"{price['against_best']:.4g} against a best response{paid}",
        )
    report.print_lines(*str(responses).splitlines())
    if output is not None:
        report.print_lines(f"wrote {output}: the response of {responses.weights[best]:g}")
