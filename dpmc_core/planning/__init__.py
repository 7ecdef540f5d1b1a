"""Planning: from how accurate an answer must be to the ε, people or noise that it takes."""

from dpmc_core.planning.answer import Candidate, Plan, halved, plan
from dpmc_core.planning.bounds import Bounds, private_bounds
from dpmc_core.planning.spec import PlanSpec

__all__ = ["Bounds", "Candidate", "Plan", "PlanSpec", "halved", "plan", "private_bounds"]
