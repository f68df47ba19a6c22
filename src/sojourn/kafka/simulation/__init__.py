"""Whole runs of a cluster, with clients and faults, from one seed."""

from .audit import BrokenPromiseError as BrokenPromiseError
from .clients import Load as Load
from .faults import FAULTS as FAULTS
from .faults import fault_names as fault_names
from .run import Plan as Plan
from .run import Simulation as Simulation
from .run import harsh_plan as harsh_plan

__all__ = ["FAULTS", "BrokenPromiseError", "Load", "Plan", "Simulation", "fault_names", "harsh_plan"]
