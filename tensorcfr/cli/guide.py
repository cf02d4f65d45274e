"""What ``tensorcfr`` alone prints: what one may want, and the command for it."""

from __future__ import annotations

WANTED = (
    ("solve a game, and keep the result", "tensorcfr solve leduc --save leduc.npz"),
    ("go on with it, to a target", "tensorcfr solve --resume leduc.npz --target 1e-4"),
    ("know how large a game is", "tensorcfr size 'bluff(dice=(2,2))'"),
    ("look at a solution in the browser", "tensorcfr view leduc.npz"),
    ("read a strategy and its values", "tensorcfr show leduc.npz --node rr"),
    ("see every number of an iteration", "tensorcfr walkthrough kuhn"),
    ("solve a spot of hold'em", "tensorcfr holdem spot.toml --target 0.5%"),
    ("see the hands after a line", "tensorcfr holdem spot.npz --node 'check bet60'"),
    ("play, and learn what mistakes cost", "tensorcfr play leduc --train"),
    ("know how good a strategy is", "tensorcfr evaluate leduc strategy.csv"),
    ("compare algorithms", "tensorcfr sweep table.csv -g leduc -a cfr -a dcfr --iters 1000"),
    ("use a strategy elsewhere", "tensorcfr export leduc.npz -o strategy.csv"),
)
"""What one may want, and the command."""


def guide() -> str:
    """The lines."""
    width = max(len(what) for what, _ in WANTED)
    lines = [f"  {what:{width}}  {command}" for what, command in WANTED]
    last = "tensorcfr --help lists all commands, tensorcfr solve --help the options of one."
    return "\n".join(["What do you want to do?", "", *lines, "", last])
