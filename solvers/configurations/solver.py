"""Priority by priority: fractional placement, whole nodes, the rest greedily, then improvement."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, IntArray, Plan, TierKind
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.bounds import trivial_bounds
from solvers.configurations.bound import ColumnGeneration, Fractional
from solvers.configurations.completion import FilledNode
from solvers.configurations.improve import Improver
from solvers.configurations.rounding import rounded
from solvers.configurations.units import UnboundableError
from solvers.configurations.view import View, single_jobs, values_of_work, view_of
from solvers.greedy import Greedy
from solvers.greedy.placing import Entries, JobPlacer
from solvers.greedy.solver import extend, largest_first
from solvers.occupancy import Occupancy

MOST_PROGRAMS = 64
"""Dynamic programs per round of column generation beyond which a priority is left to greedy."""

_STEPS_PER_REPORT = 25
"""Steps of improvement after which a whole plan is made of what is known."""

_STEPS_PER_LIMIT = 4
"""Steps of improvement per unit of deterministic time."""

_BOUND_PART = 0.5
"""Most of the time that is left that one fractional placement may take."""

_FINISH_MARGIN = 3.0
"""Time kept back to make a plan of what is known, relative to what it took the first time."""

_GAP = 0.5
"""Values are integers: a bound that is closer cannot be improved."""


class Configurations:
    """For many independent single-task jobs: ways to fill nodes are chosen, not tasks.

    Within a priority, jobs of other forms are placed greedily first. Tiers below work are left as
    they come. Of bounds it proves the one of the first work tier; jobs of other forms count in
    it as independent tasks, which is a relaxation.
    """

    name = "configurations"

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`."""
        floor = incumbent
        if floor is None:
            floor = Greedy().solve(problem, parameters, on_plan=on_plan).plan
        search = _Search(problem, parameters, on_plan, floor)
        search.run()
        return SolverResult(
            plan=search.best,
            bounds=tuple(search.bounds),
            notes=tuple(search.notes),
            counts=search.counts,
        )


@dataclass(eq=False)
class _Priority:
    """What is known of the single-task jobs of one priority, those above being placed."""

    view: View
    fractional: Fractional
    columns: ColumnGeneration
    nodes: list[FilledNode]


@dataclass(eq=False)
class _Search:
    problem: CompiledProblem
    parameters: SolveParameters
    on_plan: OnPlan | None
    best: Plan = EMPTY_PLAN
    values: tuple[int, ...] = ()
    bounds: list[int | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = tier_values(self.problem, self.best)
        self.bounds = [None] * len(self.problem.tiers)
        self._singles = single_jobs(self.problem)
        self._trivial = trivial_bounds(self.problem)
        self._finish_s = 0.0  # what it takes to make a whole plan of what is known
        self._first: _Priority | None = None
        self._steps = 0

    def run(self) -> None:
        """Bound, first plan, better plans."""
        self._bound_first_tier()
        if self._is_proven():
            self._tell()
            return
        self._construct(improve=False)
        if not self._is_proven() and not self._out_of_time():
            self._construct(improve=True)
        self.counts["steps"] = self._steps
        self._tell()

    # -- bound --------------------------------------------------------------------------------

    def _bound_first_tier(self) -> None:
        problem = self.problem
        if not problem.tiers or problem.tiers[0].kind is not TierKind.WORK:
            return
        trivial = self._trivial[0]
        self.bounds[0] = trivial
        if self.values[0] == trivial:
            return
        priority = problem.tiers[0].priority
        assert priority is not None
        values = values_of_work(problem, priority)
        able = [g for g in range(problem.group_count) if problem.fit[problem.group_kind[g]].any()]
        view = view_of(problem, Occupancy(problem), able, values)
        solved = self._fractional(view)
        if solved is None:
            return
        columns, fractional = solved
        self.bounds[0] = min(trivial, fractional.bound)
        self.counts |= {
            "shapes": view.shapes.size,
            "classes": view.classes.size,
            "configurations": len(columns.columns()),
            "rounds": fractional.rounds,
        }
        singles = {problem.job_groups[job][0] for job in self._singles}
        if all(group in singles for groups in view.groups for group in groups):
            self._first = _Priority(view, fractional, columns, [])
        self._tell()

    def _fractional(self, view: View) -> tuple[ColumnGeneration, Fractional] | None:
        if not view.classes.size or not view.shapes.size:
            return None
        try:
            columns = ColumnGeneration(view.shapes, view.classes)
        except UnboundableError as error:
            self._note(f"work of independent tasks is not bounded: {error}")
            return None
        if columns.programs > MOST_PROGRAMS:
            self._note(f"nodes differ in {columns.programs} ways: too many for configurations")
            return None
        return columns, columns.run(stopped=self._part_used(_BOUND_PART), gap=_GAP)

    # -- plans --------------------------------------------------------------------------------

    def _construct(self, *, improve: bool) -> None:
        """Fill the cluster, priority by priority."""
        problem = self.problem
        occupancy = Occupancy(problem)
        placer = JobPlacer(problem, occupancy)
        placed: dict[int, Entries] = {}
        priorities = sorted(set(problem.priority.tolist()), reverse=True)
        for number, priority in enumerate(priorities):
            members = set(np.flatnonzero(problem.priority == priority).tolist())
            values = values_of_work(problem, priority)
            singles = [job for job in self._singles if job in members]
            others = members.difference(singles)
            working = {j for j in others if any(values[g] for g in problem.job_groups[j])}
            self._extend(placer, placed, working)
            known = self._solved(occupancy, singles, values, is_first=not placed)
            started_s = time.monotonic()
            if known is not None:
                if improve:
                    until = self._share_of_time(len(priorities) - number)
                    # A lower priority begins anew after each step: only the last one can report.
                    last = number == len(priorities) - 1
                    self._improve(known, until, occupancy, placed if last else None)
                self._realise(occupancy, known.view, known.nodes, placed)
            self._extend(placer, placed, members)
            if not improve:
                self._finish_s += _FINISH_MARGIN * (time.monotonic() - started_s)
        self._offer(placed)

    def _extend(self, placer: JobPlacer, placed: dict[int, Entries], among: set[int]) -> None:
        """Start greedily what fits of these jobs."""
        if not among.difference(placed):
            return
        problem = self.problem
        before = set(placed)
        for entry in extend(problem, placer, largest_first, self.parameters, placed, among):
            job = int(problem.group_job[entry[0]])
            if job not in before:
                placed.setdefault(job, []).append(entry)

    def _solved(
        self, occupancy: Occupancy, singles: list[int], values: IntArray, *, is_first: bool
    ) -> _Priority | None:
        if is_first and self._first is not None:
            known = self._first
        else:
            groups = [self.problem.job_groups[job][0] for job in singles]
            view = view_of(self.problem, occupancy, groups, values)
            solved = self._fractional(view)
            if solved is None:
                return None
            known = _Priority(view, solved[1], solved[0], [])
        if not known.nodes:
            known.nodes = rounded(
                known.view.shapes,
                known.view.classes,
                known.fractional.used,
                known.columns.columns(),
                stopped=self._stopped,
            )
        return known

    def _improve(
        self,
        known: _Priority,
        until: Callable[[], bool],
        occupancy: Occupancy,
        placed: dict[int, Entries] | None,
    ) -> None:
        improver = Improver(
            known.view.shapes,
            known.view.classes,
            known.fractional,
            known.columns.columns(),
            known.nodes,
            seed=self.parameters.seed,
        )
        better = False
        while not improver.is_proven and not until():
            better |= improver.step(until)
            self._steps += 1
            known.nodes = improver.nodes
            is_due = not self._steps % _STEPS_PER_REPORT and not until()
            if is_due and better and placed is not None:
                self._report(known, occupancy, placed)
                better = False
        known.nodes = improver.nodes

    def _report(self, known: _Priority, occupancy: Occupancy, placed: dict[int, Entries]) -> None:
        """Make a whole plan of what is known, and take it back."""
        mark = occupancy.mark()
        copy = dict(placed)
        self._realise(occupancy, known.view, known.nodes, copy)
        self._extend(JobPlacer(self.problem, occupancy), copy, set(range(self.problem.job_count)))
        self._offer(copy)
        occupancy.undo(mark)

    def _realise(
        self,
        occupancy: Occupancy,
        view: View,
        nodes: list[FilledNode],
        placed: dict[int, Entries],
    ) -> None:
        """Give the tasks of every filled node a job each, those that waited longest first."""
        problem = self.problem
        waiting = [list(reversed(groups)) for groups in view.groups]
        free = [list(reversed(members)) for members in view.nodes]
        for shape, tasks in sorted(nodes, key=lambda item: (item[0], sorted(item[1].items()))):
            node = free[shape].pop()
            kinds = [(int(problem.group_kind[view.groups[k][0]]), n) for k, n in tasks.items()]
            if not tasks or not occupancy.place_together(node, kinds):
                continue
            for task, number in sorted(tasks.items()):
                for _ in range(number):
                    group = waiting[task].pop()
                    placed[int(problem.group_job[group])] = [(group, node, 1)]

    # -- answers and time ---------------------------------------------------------------------

    def _offer(self, placed: dict[int, Entries]) -> None:
        plan = Plan.of([entry for entries in placed.values() for entry in entries])
        faults = plan_faults(self.problem, plan)
        if faults:
            self._note(f"a plan broke a rule and was dropped: {faults[0]}")
            return
        values = tier_values(self.problem, plan)
        if is_better(self.problem, values, self.values):
            self.best, self.values = plan, values
            self._tell()

    def _tell(self) -> None:
        if self.on_plan is not None:
            self.on_plan(self.best, tuple(self.bounds))

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _is_proven(self) -> bool:
        """Whether no plan does more work, in any priority."""
        works = [i for i, t in enumerate(self.problem.tiers) if t.kind is TierKind.WORK]
        trivial = self._trivial
        return all(self.values[i] in (trivial[i], self.bounds[i]) for i in works)

    def _stopped(self) -> bool:
        return self.parameters.remaining_s() <= 0

    def _part_used(self, part: float) -> Callable[[], bool]:
        """Asks whether this part of the time that is left has been used."""
        if self.parameters.deterministic_limit is not None:
            return self._stopped
        rest_s = (1 - part) * self.parameters.remaining_s()
        return lambda: self.parameters.remaining_s() <= rest_s

    def _out_of_time(self) -> bool:
        return self.parameters.remaining_s() <= self._finish_s

    def _share_of_time(self, priorities: int) -> Callable[[], bool]:
        """Asks whether this priority, one of so many left, has used its share of what is left."""
        limit = self.parameters.deterministic_limit
        if limit is not None:
            most = self._steps + max(1, int(limit * _STEPS_PER_LIMIT / priorities))
            return lambda: self._steps >= most or self._stopped()
        left_s = max(0.0, self.parameters.remaining_s() - self._finish_s) / priorities
        floor_s = self.parameters.remaining_s() - left_s
        return lambda: self.parameters.remaining_s() <= max(floor_s, self._finish_s)
