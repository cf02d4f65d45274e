"""Guide from tasks to commands; ``tensorcfr`` without a command prints it."""

from __future__ import annotations

TASKS = (
    (
        "solve a game, and keep the result",
        "tensorcfr solve leduc --iters 1000 --save leduc.npz",
        'solve(compile_game("leduc"), iters=1000).save("leduc.npz")',
    ),
    (
        "continue it, to a target",
        "tensorcfr solve --resume leduc.npz --target 1e-3",
        'start = Solution.load("leduc.npz"); solve(start.game, start=start, target=1e-3)',
    ),
    (
        "know how large a game is",
        "tensorcfr size 'bluff(dice=(2,2))'",
        'game_size("bluff(dice=(2,2))")',
    ),
    (
        "look at a solution in the browser",
        "tensorcfr view leduc.npz",
        'view(Solution.load("leduc.npz"))',
    ),
    (
        "read a strategy",
        "tensorcfr show leduc.npz --infoset Ks",
        'Solution.load("leduc.npz").policy["Ks"]',
    ),
    (
        "know the value of every action",
        "tensorcfr show leduc.npz --node rr",
        "values(start.game, start).table().to_dict()",
    ),
    (
        "see every number of an iteration",
        "tensorcfr walkthrough kuhn",
        'walkthrough(compile_game("kuhn"), "cfr", iters=2)',
    ),
    (
        "find the mistake in your own CFR program",
        "tensorcfr diagnose printed.txt --game kuhn",
        'diagnose(compile_game("kuhn"), "printed.txt")',
    ),
    (
        "solve a spot of hold'em",
        "tensorcfr spot spot.toml --target 0.5% --save spot.npz",
        'spot = solve(compile_game("spot.toml"), target="0.5%")',
    ),
    (
        "see the hands after a line",
        "tensorcfr spot spot.npz --node 'check bet50'",
        'hand_table(spot, "check bet50").groups()',
    ),
    (
        "play, and learn the cost of mistakes",
        "tensorcfr play leduc --train",
        "Match(start.game, start, seat=1)",
    ),
    (
        "use a strategy elsewhere",
        "tensorcfr export leduc.npz -o strategy.csv",
        'start.policy.save("strategy.csv"); start.policy.to_pandas()',
    ),
    (
        "know how good a strategy is",
        "tensorcfr evaluate leduc strategy.csv",
        'exploitability(compile_game("leduc"), "strategy.csv")',
    ),
    (
        "compare algorithms",
        "tensorcfr sweep table.csv -g kuhn -a cfr -a dcfr --iters 1000",
        'sweep("table.csv", ["kuhn"], ["cfr", "dcfr"], iters=1000)',
    ),
    (
        "solve against a fixed strategy",
        "tensorcfr solve kuhn --lock 'J:bet=0'",
        'solve(compile_game("kuhn"), locks={"J": {"bet": 0}})',
    ),
    (
        "exploit a player, at a stated risk",
        "tensorcfr respond leduc strategy.csv --max-loss 0.05",
        'robust_responses(compile_game("leduc"), None, 0, model="strategy.csv", max_loss=0.05)',
    ),
)
"""Tasks, each with its command and its Python code."""


def guide() -> str:
    """Return the lines that ``tensorcfr`` prints without a command."""
    width = max(len(task) for task, _, _ in TASKS)
    lines = [f"  {task:{width}}  {command}" for task, command, _ in TASKS]
    last = "tensorcfr --help lists all commands, tensorcfr solve --help the options of one."
    return "\n".join(["What do you want to do?", "", *lines, "", last])
