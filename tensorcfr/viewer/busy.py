"""Error of requests that must wait."""


class BusyError(RuntimeError):
    """A solve, a build or a report is running already."""
