"""Why a job waits, in a word: what rules nodes out, and what is left for it."""

from collections import Counter

import numpy as np

from placement.answer import Why
from placement.compiled.eligibility import objection
from placement.compiled.leftover import leftover
from placement.compiled.problem import CompiledProblem, IntArray, Plan
from placement.problem import Problem


class WaitingReasons:
    """Reasons for the jobs that a plan leaves waiting."""

    def __init__(self, problem: Problem, compiled: CompiledProblem, plan: Plan) -> None:
        self._problem = problem
        self._compiled = compiled
        left = leftover(compiled, plan)
        self._free = np.maximum(left.free, 0)
        self._idle = np.maximum(left.idle, 0)
        self._room: dict[int, IntArray] = {}

    def why(self, job: int) -> Why:
        """One sentence, and the nodes counted by what rules them out for one task."""
        compiled = self._compiled
        groups = [g for g in compiled.job_groups[job] if compiled.count_min[g]]
        groups = groups or list(compiled.job_groups[job])
        before = {g: compiled.fit[compiled.group_kind[g]] for g in groups}
        scarce = min(
            groups, key=lambda g: int(before[g].sum()) / max(1, int(compiled.count_min[g]))
        )
        need = max(1, int(compiled.count_min[scarce]))
        task = f"task of {compiled.group_names[scarce]}" if len(groups) > 1 else "task"
        fits = int(before[scarce].sum())
        if not fits:
            nodes = self._ruled_out(job, scarce, compiled.free, self._idle_before())
            return Why(summary=f"no node can take a {task}: {_listed(nodes)}", nodes=nodes)
        nodes = self._ruled_out(job, scarce, self._free, self._idle)
        if fits < need:
            return Why(summary=f"{fits} of {need} tasks would fit on what is free", nodes=nodes)
        for rule in compiled.required:
            if rule.job != job:
                continue
            domain = compiled.domain[rule.level]
            for group in rule.groups:
                wanted = int(compiled.count_min[group])
                room = compiled.fit[compiled.group_kind[group]]
                best = int(np.bincount(domain, weights=room).max())
                if best < wanted:
                    level = compiled.level_names[rule.level]
                    fitting = f"at most {best} of {wanted} tasks fit in one"
                    return Why(summary=f"no {level} can take it: {fitting}", nodes=nodes)
        now = int(self._room_now(int(compiled.group_kind[scarce])).sum())
        if now < need:
            summary = f"others were preferred: {now} of {need} tasks fit on what they leave"
        else:
            summary = "its tasks do not fit together with what starts"
        return Why(summary=summary, nodes=nodes)

    def _idle_before(self) -> IntArray:
        return np.array([len(gpus) for gpus in self._compiled.idle_gpus], dtype=np.int64)

    def _room_now(self, kind: int) -> IntArray:
        """``[N]`` whole-GPU or plain tasks that fit now; shares count idle GPUs only."""
        if kind not in self._room:
            compiled = self._compiled
            used = np.flatnonzero(compiled.demand[kind])
            room = (self._free[:, used] // compiled.demand[kind][used]).min(axis=1)
            if compiled.whole_gpus[kind]:
                room = np.minimum(room, self._idle // compiled.whole_gpus[kind])
            elif compiled.share_units.size and compiled.share_units[kind].any():
                units = np.maximum(1, compiled.share_units[kind][compiled.gpu_kind])
                room = np.minimum(
                    room, self._idle * (compiled.gpu_kind_capacity[compiled.gpu_kind] // units)
                )
            self._room[kind] = np.where(compiled.eligible[kind], room, 0)
        return self._room[kind]

    def _ruled_out(self, job: int, group: int, free: IntArray, idle: IntArray) -> dict[str, int]:
        """Nodes counted by the first thing that rules them out for one task of the group."""
        problem, compiled = self._problem, self._compiled
        offset = compiled.job_groups[job].index(group)
        stated, request = problem.jobs[job], problem.jobs[job].tasks[offset]
        kind = int(compiled.group_kind[group])
        demand = compiled.demand[kind]
        short = free < demand
        counts: Counter[str] = Counter()
        for index, node in enumerate(problem.nodes):
            reason = objection(node, stated, request, problem.now_unix_s)
            if reason is None and compiled.whole_gpus[kind] > idle[index]:
                reason = f"fewer than {int(compiled.whole_gpus[kind])} free GPUs"
            if reason is None and short[index].any():
                reason = f"too little {compiled.resource_names[int(np.argmax(short[index]))]}"
            if reason is None and not compiled.eligible[kind, index]:
                reason = "no room on its GPUs" if request.is_shared_gpu else "outside the topology"
            if reason is not None:
                counts[reason] += 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _listed(nodes: dict[str, int]) -> str:
    parts = [f"{count}: {reason}" for reason, count in nodes.items()]
    return "; ".join(parts) if parts else "none is free enough"
