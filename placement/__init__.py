"""Places GPU workloads on the nodes of a cluster: feasible, checked, explained, by the deadline.

A session reads a problem, solves it, and looks at the answer::

    import placement

    problem = placement.load_problem(["examples/quickstart.yaml"])
    answer = placement.solve(problem)
    for decision in answer.decisions:
        print(decision.job, decision.action)

The names below are the whole public surface. They are loaded on first use, so that importing the
package imports neither gRPC nor OR-tools.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement.answer import Action, Answer, Decision, Status, TierResult, Why
    from placement.answer_file import answer_from_document, answer_to_document, load_answer
    from placement.check import Violation, check_answer
    from placement.cluster import Cluster
    from placement.engine import EngineFaultError, SolveOptions, solve
    from placement.faults import Fault, InvalidProblemError, UnsupportedProblemError
    from placement.objective import TierValue, tier_values
    from placement.policy import Policy
    from placement.problem import Problem
    from placement.problem_file import load_problem, problem_from_document
    from placement.workload import Job, TaskGroup

__all__ = [
    "Action",
    "Answer",
    "Cluster",
    "Decision",
    "EngineFaultError",
    "Fault",
    "InvalidProblemError",
    "Job",
    "Policy",
    "Problem",
    "SolveOptions",
    "Status",
    "TaskGroup",
    "TierResult",
    "TierValue",
    "UnsupportedProblemError",
    "Violation",
    "Why",
    "answer_from_document",
    "answer_to_document",
    "check_answer",
    "load_answer",
    "load_problem",
    "problem_from_document",
    "solve",
    "tier_values",
]

_HOME = {
    "Action": "answer",
    "Answer": "answer",
    "Cluster": "cluster",
    "Decision": "answer",
    "EngineFaultError": "engine",
    "Fault": "faults",
    "InvalidProblemError": "faults",
    "Job": "workload",
    "Policy": "policy",
    "Problem": "problem",
    "SolveOptions": "engine",
    "Status": "answer",
    "TaskGroup": "workload",
    "TierResult": "answer",
    "TierValue": "objective",
    "UnsupportedProblemError": "faults",
    "Violation": "check",
    "Why": "answer",
    "answer_from_document": "answer_file",
    "answer_to_document": "answer_file",
    "check_answer": "check",
    "load_answer": "answer_file",
    "load_problem": "problem_file",
    "problem_from_document": "problem_file",
    "solve": "engine",
    "tier_values": "objective",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
