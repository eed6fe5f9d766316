"""Why a job waits, in a word: what rules nodes out, and what is left for it."""

from typing import TYPE_CHECKING

import numpy as np

from placement.answer import Why
from placement.compiled.eligibility import eligibility_key, objection
from placement.compiled.leftover import leftover
from placement.compiled.problem import CompiledProblem, IntArray, Plan
from placement.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Hashable


class WaitingReasons:
    """What of the reasons does not depend on a plan: made once per problem."""

    def __init__(self, problem: Problem, compiled: CompiledProblem) -> None:
        self.problem = problem
        self.compiled = compiled
        self.idle = np.array([len(gpus) for gpus in compiled.idle_gpus], dtype=np.int64)
        numbers: dict[Hashable, int] = {}
        self._signature = np.array(
            [numbers.setdefault(eligibility_key(node), len(numbers)) for node in problem.nodes],
            dtype=np.int64,
        )
        _, self._examples = np.unique(self._signature, return_index=True)
        self._objections: dict[int, list[str | None]] = {}

    def after(self, plan: Plan) -> "PlanReasons":
        """Reasons for the jobs that the plan leaves waiting."""
        return PlanReasons(self, plan)

    def ruled_out(self, job: int, group: int, free: IntArray, idle: IntArray) -> dict[str, int]:
        """Nodes counted by the first thing that rules them out for one task of the group."""
        compiled = self.compiled
        kind = int(compiled.group_kind[group])
        request = self.problem.jobs[job].tasks[compiled.job_groups[job].index(group)]
        stated = self._stated(job, group)
        unruled = np.array([reason is None for reason in stated])[self._signature]
        whole = int(compiled.whole_gpus[kind])
        short = free < compiled.demand[kind]
        few_gpus = unruled & (idle < whole)
        lacks = unruled & ~few_gpus & short.any(axis=1)
        other = unruled & ~few_gpus & ~lacks
        other &= ~compiled.eligible[kind] | (compiled.fit[kind] == 0)
        counts: dict[str, int] = {}
        for number, reason in enumerate(stated):
            if reason is not None:
                counts[reason] = counts.get(reason, 0) + int((self._signature == number).sum())
        counts[f"fewer than {whole} free GPUs"] = int(few_gpus.sum())
        for resource, name in enumerate(compiled.resource_names):
            first = lacks & short[:, resource] & ~short[:, :resource].any(axis=1)
            counts[f"too little {name}"] = int(first.sum())
        rest = "no room on its GPUs" if request.is_shared_gpu else "outside the topology"
        counts[rest] = int(other.sum())
        counted = {reason: count for reason, count in counts.items() if count}
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def _stated(self, job: int, group: int) -> list[str | None]:
        """What the labels, taints and states of each kind of node object to."""
        kind = int(self.compiled.group_kind[group])
        if kind not in self._objections:
            problem = self.problem
            stated = problem.jobs[job]
            request = stated.tasks[self.compiled.job_groups[job].index(group)]
            self._objections[kind] = [
                objection(problem.nodes[example], stated, request, problem.now_unix_s)
                for example in self._examples
            ]
        return self._objections[kind]


class PlanReasons:
    """Reasons for the jobs that one plan leaves waiting."""

    def __init__(self, reasons: WaitingReasons, plan: Plan) -> None:
        self._reasons = reasons
        left = leftover(reasons.compiled, plan)
        self._free = np.maximum(left.free, 0)
        self._idle = np.maximum(left.idle, 0)
        self._known: dict[tuple[int, bool], dict[str, int]] = {}

    def why(self, job: int) -> Why:
        """One sentence, and the nodes counted by what rules them out for one task."""
        compiled = self._reasons.compiled
        groups = [g for g in compiled.job_groups[job] if compiled.count_min[g]]
        groups = groups or list(compiled.job_groups[job])
        before = {g: compiled.fit[compiled.group_kind[g]] for g in groups}
        scarce = min(
            groups, key=lambda g: int(before[g].sum()) / max(1, int(compiled.count_min[g]))
        )
        need = max(1, int(compiled.count_min[scarce]))
        fits = int(before[scarce].sum())
        if not fits:
            task = f"task of {compiled.group_names[scarce]}" if len(groups) > 1 else "task"
            nodes = self._ruled_out(job, scarce, decided=False)
            return Why(summary=f"no node can take a {task}: {_listed(nodes)}", nodes=nodes)
        nodes = self._ruled_out(job, scarce, decided=True)
        if fits < need:
            return Why(summary=f"{fits} of {need} tasks would fit on what is free", nodes=nodes)
        narrow = self._too_narrow(job)
        if narrow is not None:
            return Why(summary=narrow, nodes=nodes)
        now = int(self._room_now(int(compiled.group_kind[scarce])).sum())
        if now < need:
            summary = f"others were preferred: {now} of {need} tasks fit on what they leave"
        else:
            summary = "its tasks do not fit together with what starts"
        return Why(summary=summary, nodes=nodes)

    def _too_narrow(self, job: int) -> str | None:
        """Whether no domain of a required level holds the job even by itself."""
        compiled = self._reasons.compiled
        for rule in compiled.required:
            if rule.job != job:
                continue
            for group in rule.groups:
                wanted = int(compiled.count_min[group])
                room = compiled.fit[compiled.group_kind[group]]
                best = int(np.bincount(compiled.domain[rule.level], weights=room).max())
                if best < wanted:
                    level = compiled.level_names[rule.level]
                    fitting = f"at most {best} of {wanted} tasks fit in one"
                    return f"no {level} can take it: {fitting}"
        return None

    def _room_now(self, kind: int) -> IntArray:
        """``[N]`` whole-GPU or plain tasks that fit now; shares count idle GPUs only."""
        compiled = self._reasons.compiled
        used = np.flatnonzero(compiled.demand[kind])
        room = (self._free[:, used] // compiled.demand[kind][used]).min(axis=1)
        if compiled.whole_gpus[kind]:
            room = np.minimum(room, self._idle // compiled.whole_gpus[kind])
        elif compiled.share_units.size and compiled.share_units[kind].any():
            units = np.maximum(1, compiled.share_units[kind][compiled.gpu_kind])
            room = np.minimum(
                room, self._idle * (compiled.gpu_kind_capacity[compiled.gpu_kind] // units)
            )
        return np.where(compiled.eligible[kind], room, 0)

    def _ruled_out(self, job: int, group: int, *, decided: bool) -> dict[str, int]:
        key = (int(self._reasons.compiled.group_kind[group]), decided)
        if key not in self._known:
            reasons = self._reasons
            free = self._free if decided else reasons.compiled.free
            idle = self._idle if decided else reasons.idle
            self._known[key] = reasons.ruled_out(job, group, free, idle)
        return dict(self._known[key])


def _listed(nodes: dict[str, int]) -> str:
    parts = [
        f"{count} {'node' if count == 1 else 'nodes'}: {reason}" for reason, count in nodes.items()
    ]
    return "; ".join(parts) if parts else "none is free enough"
