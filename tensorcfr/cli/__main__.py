"""Command line, as ``python -m tensorcfr.cli``."""

from . import main

if __name__ == "__main__":
    main()
