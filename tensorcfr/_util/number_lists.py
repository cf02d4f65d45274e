"""Numbers in a text, separated by commas."""

from __future__ import annotations


def read_numbers(option: str, text: str) -> tuple[float, ...]:
    """Return the numbers of a text, ``"50,30,20"``.

    Raises:
        ValueError: A part is not a number; names the option and the part.
    """
    numbers = []
    # Files of settings hold lists, which arrive with brackets.
    for part in text.strip("[]() ").split(","):
        try:
            numbers.append(float(part))
        except ValueError:
            raise ValueError(f"{option} {text!r}: {part.strip()!r} is not a number") from None
    return tuple(int(number) if number.is_integer() else number for number in numbers)
