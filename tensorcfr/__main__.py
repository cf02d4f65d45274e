"""Command line, as ``python -m tensorcfr``."""

from .cli import main

if __name__ == "__main__":
    main()
