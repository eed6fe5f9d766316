"""Tiers of the objective as linear expressions over the counting model.

Each function returns terms and a constant whose sum is the tier's value for plans that realise
the model (exactly in cells of one node), and at least as good as the value of any plan otherwise.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from placement.compiled.problem import Tier, TierKind
from solvers.cp_sat.assemblable import AssemblableSets
from solvers.cp_sat.expression import Expression
from solvers.cp_sat.locality import Locality
from solvers.cp_sat.model import CountingModel

if TYPE_CHECKING:
    from solvers.cp_sat.rows import Term


class Tiers:
    """Builds expressions on demand; what two tiers share is built once."""

    def __init__(self, model: CountingModel) -> None:
        self.model = model
        self._locality = Locality(model)
        self._sets = AssemblableSets(model)
        self._ages: dict[int, cp_model.IntVar] = {}

    def expression(self, tier: Tier) -> Expression:
        """The tier's value."""
        match tier.kind:
            case TierKind.WORK | TierKind.WORK_WITHOUT_GPUS:
                return self._work(tier)
            case TierKind.AGE:
                return self._age(tier)
            case TierKind.PREFERRED_SPAN:
                return self._locality.preferred_span()
            case TierKind.SPAN:
                assert tier.level is not None
                return self._locality.span(tier.level)
            case TierKind.BALANCE:
                assert tier.level is not None
                return self._locality.balance(tier.level)
            case TierKind.SOFT:
                return self._soft()
            case TierKind.FRAGMENTATION:
                return self._sets.expression()

    def _work(self, tier: Tier) -> Expression:
        problem, model = self.model.problem, self.model
        by_gpus = any(t.kind is TierKind.WORK_WITHOUT_GPUS for t in problem.tiers)
        terms: list[Term] = []
        for index, bundle in enumerate(model.bundles):
            job = bundle.first
            if problem.priority[job] != tier.priority:
                continue
            if by_gpus and problem.has_gpu[job] != (tier.kind is TierKind.WORK):
                continue
            base = int(problem.work_base[job])
            for i in model.items_of[index]:
                group = model.items[i].group
                if problem.count_min[group] == problem.count_max[group]:
                    continue
                value = int(problem.work_per_task[group])
                base -= value * int(problem.count_min[group])
                terms += [(value, v, most) for _, v, most in model.tasks([i], model.cells_of[i])]
            terms.append((base, model.started[index], len(bundle.jobs)))
        return Expression(terms)

    def _age(self, tier: Tier) -> Expression:
        model, problem = self.model, self.model.problem
        terms: list[Term] = []
        for index, bundle in enumerate(model.bundles):
            if problem.priority[bundle.first] != tier.priority:
                continue
            ages = [int(problem.age_weight[job]) for job in bundle.jobs]
            if ages[0] == ages[-1]:
                terms.append((ages[0], model.started[index], len(ages)))
            else:
                terms.append((1, self._oldest(index, ages), sum(ages)))
        return Expression(terms)

    def _oldest(self, bundle: int, ages: Sequence[int]) -> cp_model.IntVar:
        """Age of the n oldest jobs of a bundle: concave in n, one row per slope."""
        model = self.model
        if bundle not in self._ages:
            total = model.model.new_int_var(0, sum(ages), "")
            start = model.started[bundle]
            before = 0
            for number, age in enumerate(ages):
                # total <= sum of the first `number` + age * (n - number)
                row: list[Term] = [(1, total, sum(ages)), (-age, start, len(ages))]
                model.add_at_most(row, before - age * number)
                before += age
            model.derive(total, lambda hint: sum(ages[: hint.total([start])]))
            self._ages[bundle] = total
        return self._ages[bundle]

    def _soft(self) -> Expression:
        problem, model = self.model.problem, self.model
        terms: list[Term] = []
        for (i, cell), z in model.z.items():
            cost = int(problem.soft_cost[model.items[i].kind, model.cells[cell].nodes[0]])
            if cost:
                terms.append((cost, z, model.z_most[i, cell]))
        return Expression(terms)
