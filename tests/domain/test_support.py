"""What is not solved yet is refused, by the name of the field as it was written."""

import pytest

from placement.resolve import problem_from_document
from placement.support import unsupported_faults
from tests.domain.documents import document

RUN = "[{job: r, %s tasks: [{node: n01, %s}]}]"


@pytest.mark.parametrize(
    ("sections", "paths"),
    [
        ({"jobs": "[{name: j, gpus: 2, gpu: {same: nvlink}}]"}, ["jobs[0].gpu.same"]),
        (
            {"jobs": "[{name: j, tasks: [{cpu: 1, name: a}, {gpus: 2, gpu: {same: numa}}]}]"},
            ["jobs[0].tasks[1].gpu.same"],
        ),
        ({"jobs": "[{name: j, tasks: [{name: w, mig: 1g.10gb}]}]"}, ["jobs[0].tasks[0].mig"]),
        ({"jobs": "[{name: j, mig: 1g.10gb}]"}, ["jobs[0].mig"]),
        ({"jobs": "[{name: j, gpus: 1, nic: per-gpu}]"}, ["jobs[0].nic"]),
        (
            {"jobs": "[{name: j, gpus: 1, count: 2, slices: [{size: 1, level: rack}]}]"},
            ["jobs[0].slices"],
        ),
        (
            {
                "jobs": "[{name: j, bind: [{groups: [a, b], level: rack}],"
                " with: [{job: k, level: zone}], tasks: [{name: a, cpu: 1}, {name: b, cpu: 1}]},"
                " {name: k, cpu: 1}]"
            },
            ["jobs[0].bind", "jobs[0].with"],
        ),
        (
            {"running": RUN % ("slices: [{size: 1, level: rack}],", "mig: 1g.10gb")},
            ["cluster.running[0].slices", "cluster.running[0].tasks[0].mig"],
        ),
        (
            {
                "domains": "[{path: z1}, {path: z1/r1, uplink: 1Tbps}]",
                "jobs": "[{name: j, network: 1Gbps}]",
            },
            ["cluster.domains[1].uplink"],
        ),
        ({"domains": "[{path: z1/r1, uplink: 1Tbps}]"}, []),
        (
            {"queues": "[{name: a, guarantee: {gpus: 1}, limit: {gpus: 2}, weight: 2}, {name: b}]"},
            ["cluster.queues[0].guarantee", "cluster.queues[0].limit", "cluster.queues[0].weight"],
        ),
        (
            {"reservations": "[{job: x, start: '+1h', tasks: [{node: n01, gpus: 1}]}]"},
            ["cluster.reservations"],
        ),
        ({"policy": "{fairness: strict}"}, ["policy.fairness"]),
        ({"policy": "{borrow_nonpreemptible: false}"}, ["policy.borrow_nonpreemptible"]),
        (
            {"policy": "{preemption: {enabled: true, reclaim: true}, migration: {enabled: true}}"},
            ["policy.preemption.enabled", "policy.preemption.reclaim", "policy.migration.enabled"],
        ),
        ({"policy": "{preemption: {enabled: false}, migration: {enabled: false}}"}, []),
        ({"policy": "{reservations: {mode: strict}}"}, ["policy.reservations.mode"]),
        ({"policy": "{reservations: {mode: balanced}}"}, ["policy.reservations.mode"]),
        (
            {"policy": "{fragmentation: {target: [{gpus: 2}, {gpus: 2, same: nvlink}]}}"},
            ["policy.fragmentation.target[1].same"],
        ),
        ({}, []),
    ],
)
def test_fields(sections: dict[str, str], paths: list[str]) -> None:
    faults = unsupported_faults(problem_from_document(document(**sections)))
    assert [fault.path for fault in faults] == paths
    assert all("not supported yet" in fault.message for fault in faults)
