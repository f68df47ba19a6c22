"""Whole runs of a cluster, with clients and faults, from one seed."""

from .audit import BrokenPromiseError
from .clients import Load
from .faults import FAULTS, fault_names
from .run import Plan, Simulation, harsh_plan

__all__ = ["FAULTS", "BrokenPromiseError", "Load", "Plan", "Simulation", "fault_names", "harsh_plan"]
