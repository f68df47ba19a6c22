"""Whole runs of a cluster, with clients and faults, from one seed."""

from .audit import BrokenPromiseError
from .clients import Load
from .faults import FAULTS, fault_names
from .run import Scenario, Simulation, harsh_scenario

__all__ = ["FAULTS", "BrokenPromiseError", "Load", "Scenario", "Simulation", "fault_names", "harsh_scenario"]
