"""Cells: sets of nodes that the counting model does not tell apart."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from placement.compiled.problem import CompiledProblem


@dataclass(frozen=True, slots=True)
class Cell:
    """Nodes that share every domain, eligibility and soft cost; free amounts may differ.

    A cell of one node is modelled exactly; a larger one is a relaxation, whose solutions must be
    packed onto its nodes (:mod:`solvers.cp_sat.realise`). A pool is the union of other cells, for
    tasks that no rule binds to a domain; ``parts`` are the indices of these cells.
    """

    nodes: tuple[int, ...]
    parts: tuple[int, ...] = ()

    @property
    def single(self) -> bool:
        """Whether the cell is one node."""
        return len(self.nodes) == 1


def coarse_cells(problem: CompiledProblem) -> list[Cell]:
    """One cell per finest domain and kind of node, whatever is free on the nodes."""
    columns = np.ascontiguousarray(
        np.vstack(
            [
                problem.domain[:-1],
                problem.gpu_kind[None],
                problem.eligible,
                problem.soft_cost,
                *(target.usable[None] for target in problem.targets),
            ]
        ).T
    )
    useful = problem.eligible.any(axis=0)
    for target in problem.targets:
        useful = useful | target.usable
    return _grouped((columns[node].tobytes(), int(node)) for node in np.flatnonzero(useful))


def with_pools(problem: CompiledProblem, cells: Sequence[Cell]) -> list[Cell]:
    """The cells, and a pool of each set of them that differ in their domains only."""
    keys: dict[Hashable, list[int]] = {}
    for index, cell in enumerate(cells):
        node = cell.nodes[0]
        key = (
            int(problem.gpu_kind[node]),
            problem.eligible[:, node].tobytes(),
            problem.soft_cost[:, node].tobytes(),
        )
        keys.setdefault(key, []).append(index)
    pools = [
        Cell(tuple(n for part in parts for n in cells[part].nodes), tuple(parts))
        for parts in keys.values()
        if len(parts) > 1
    ]
    return [*cells, *pools]


def without_pools(cells: Sequence[Cell]) -> list[Cell]:
    """Only the cells that are not unions of others."""
    return [cell for cell in cells if not cell.parts]


def class_cells(problem: CompiledProblem, nodes: Sequence[int]) -> list[Cell]:
    """One cell per class of identical nodes."""
    return _grouped((int(problem.node_class[node]), node) for node in nodes)


def refined(problem: CompiledProblem, cells: Sequence[Cell], failed: set[int]) -> list[Cell]:
    """Split the failed cells: into classes of identical nodes, or if it is one, into nodes."""
    result: list[Cell] = []
    for index, cell in enumerate(cells):
        if index not in failed or cell.single:
            result.append(cell)
            continue
        parts = class_cells(problem, cell.nodes)
        result += parts if len(parts) > 1 else [Cell((node,)) for node in cell.nodes]
    return result


def single_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Every node by itself."""
    return [Cell((node,)) for cell in cells for node in cell.nodes]


def _grouped(keyed: Iterable[tuple[Hashable, int]]) -> list[Cell]:
    members: dict[Hashable, list[int]] = {}
    for key, node in keyed:
        members.setdefault(key, []).append(node)
    return [Cell(tuple(nodes)) for nodes in members.values()]
