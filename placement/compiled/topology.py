"""Domains as numbers per level, and the rules of jobs that refer to levels."""

from collections.abc import Sequence

import numpy as np

from placement.cluster import NODE_LEVEL, Node
from placement.compiled.problem import BoolArray, IntArray, OneDomain, SpreadRule
from placement.workload import Job, TaskGroup, Topology


def level_names(levels: Sequence[str]) -> tuple[str, ...]:
    """Levels coarse to fine, the node last."""
    return (*levels, NODE_LEVEL)


def domain_ids(nodes: Sequence[Node], levels: int) -> tuple[IntArray, tuple[BoolArray, ...]]:
    """Number the domains of each level in order of first appearance.

    Returns
    -------
    domain
        ``[levels + 1, N]``; a node outside every domain of a level gets one of its own.
    named
        Per level ``[domains]``: False for those made up.
    """
    domain = np.zeros((levels + 1, len(nodes)), dtype=np.int64)
    named: list[BoolArray] = []
    for level in range(levels):
        numbers: dict[str, int] = {}
        is_named: list[bool] = []
        for index, node in enumerate(nodes):
            path = node.domains[level]
            if path is None:
                domain[level, index] = len(is_named)
                is_named.append(False)
            elif path in numbers:
                domain[level, index] = numbers[path]
            else:
                numbers[path] = domain[level, index] = len(is_named)
                is_named.append(True)
        named.append(np.array(is_named, dtype=np.bool_))
    domain[levels] = np.arange(len(nodes))
    named.append(np.ones(len(nodes), dtype=np.bool_))
    return domain, tuple(named)


def stated(topology: object) -> Topology:
    """The required and preferred level; neither if none is stated."""
    return topology if isinstance(topology, Topology) else Topology()


def required_levels(job: Job, group: TaskGroup) -> set[str]:
    """Levels at which the group's tasks must share one domain."""
    levels = {stated(job.topology).required, stated(group.topology).required}
    return {level for level in levels if level is not None}


def one_domain_rules(
    jobs: Sequence[Job], job_groups: Sequence[Sequence[int]], levels: Sequence[str], which: str
) -> tuple[OneDomain, ...]:
    """The ``required`` or ``preferred`` rules of jobs and of their groups."""
    rules: list[OneDomain] = []
    for index, job in enumerate(jobs):
        groups = tuple(job_groups[index])
        level = getattr(stated(job.topology), which)
        if level is not None:
            rules.append(OneDomain(index, groups, levels.index(level)))
        for number, group in zip(groups, job.tasks, strict=True):
            level = getattr(stated(group.topology), which)
            if level is not None:
                rules.append(OneDomain(index, (number,), levels.index(level)))
    # The same requirement twice is one; the same wish of job and group costs twice.
    return tuple(dict.fromkeys(rules)) if which == "required" else tuple(rules)


def spread_rules(
    jobs: Sequence[Job],
    job_groups: Sequence[Sequence[int]],
    levels: Sequence[str],
    domain: IntArray,
    eligible_of_group: Sequence[BoolArray],
) -> tuple[SpreadRule, ...]:
    """Spread rules; skew is measured over domains that have an eligible node."""
    rules = []
    for index, job in enumerate(jobs):
        for number, group in zip(job_groups[index], job.tasks, strict=True):
            if group.spread is None:
                continue
            level = levels.index(group.spread.level)
            domains = np.unique(domain[level][eligible_of_group[number]])
            rules.append(
                SpreadRule(
                    group=number,
                    level=level,
                    most=group.spread.most,
                    skew=group.spread.skew,
                    domains=tuple(int(d) for d in domains),
                )
            )
    return tuple(rules)
