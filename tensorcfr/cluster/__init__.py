"""Solver of chunked games on several machines; needs ``tensorcfr[cluster]``."""

from .cluster_solver import ClusterSolver, traffic_of

__all__ = ["ClusterSolver", "traffic_of"]
