"""First fit: each task on the first node, in the order of the snapshot, that takes it."""

from placement.compiled.problem import IntArray
from solvers.baselines.one_by_one import NodeRule, OneByOne
from solvers.occupancy import Occupancy


class _First:
    def choose(self, occupancy: Occupancy, kind: int, nodes: IntArray) -> int:
        return int(nodes[0])

    def changed(self, occupancy: Occupancy, node: int) -> None:
        """Nothing is remembered."""


class FirstFit(OneByOne):
    """The plainest scheduler."""

    name = "first-fit"

    def rule(self, occupancy: Occupancy) -> NodeRule:
        """The first node."""
        return _First()
