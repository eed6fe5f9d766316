"""What is wrong with a document, and the place and the words by which it is named."""
# ruff: noqa: E501 - a row of the table reads best on one line

import pytest

from tests.domain.documents import document, faults

J = "{name: j, cpu: 1, %s}"
T = "{name: j, tasks: [{name: a, cpu: 1, %s}, {name: b, cpu: 1}]}"


def job(fields: str) -> dict[str, str]:
    return {"jobs": f"[{J % fields}]"}


def group(fields: str) -> dict[str, str]:
    return {"jobs": f"[{T % fields}]"}


def run(task: str, fields: str = "") -> dict[str, str]:
    return {"running": f"[{{job: r, {fields} tasks: [{{{task}}}]}}]"}


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        # Shape of the document.
        ({"cluster": "{}"}, {"cluster.nodes": "the cluster has no nodes"}),
        ({"nodes": "[]"}, {"cluster.nodes": "the cluster has no nodes"}),
        ({"jobs": "[]"}, {"jobs": "there are no pending jobs"}),
        ({"jobs": ""}, {"jobs": "there are no pending jobs"}),
        ({"cluster": ""}, {"cluster": "missing"}),
        ({"cluster": "[]"}, {"cluster": "a mapping is expected"}),
        ({"jobs": "{}"}, {"jobs": "a list is expected"}),
        ({"jobs": "[3]"}, {"jobs[0]": "a mapping is expected"}),
        ({"now": "2026-11-30"}, {"now": "2026-11-30T12:00:00Z"}),
        ({"now": "'+2h'"}, {"now": "not a time"}),
        ({"nodez": "[]"}, {"cluster.nodez": "did you mean nodes?"}),
        ({"levels": "rack"}, {"cluster.levels": "a list is expected"}),
        # Nodes, shapes, domains.
        ({"levels": "[zone, rack, zone]"}, {"cluster.levels[2]": "twice"}),
        ({"levels": "[zone, rack, node]"}, {"cluster.levels[2]": "node is always the last"}),
        ({"nodes": "[{name: a, shape: hgxx}]"}, {"cluster.nodes[0].shape": 'mean "hgx"'}),
        ({"nodes": "[{name: a}]"}, {"cluster.nodes[0].shape": "missing"}),
        (
            {"nodes": "[{name: 'n[1-3]', shape: hgx}, {name: n2, shape: hgx}]"},
            {"cluster.nodes[1].name": "first in cluster.nodes[0]"},
        ),
        ({"nodes": "[{name: 'n[1-', shape: hgx}]"}, {"cluster.nodes[0].name": "hostlist"}),
        ({"nodes": "[{name: (null), shape: hgx}]"}, {"cluster.nodes[0].name": "no node"}),
        ({"nodes": "[{name: 'n[1-2000000]', shape: hgx}]"}, {"cluster.nodes[0].name": "1000000"}),
        (
            {"nodes": "[{name: a, shape: hgx, domain: z/r/x}]"},
            {"cluster.nodes[0].domain": "3 deep"},
        ),
        ({"nodes": "[{name: a, shape: hgx, domain: z//x}]"}, {"cluster.nodes[0].domain": "path"}),
        ({"nodes": "[{name: a, shape: hgx, state: dwn}]"}, {"cluster.nodes[0].state": "mean down"}),
        (
            {"nodes": "[{name: a, shape: hgx, unhealthy_gpus: [8, 1, 1]}]"},
            {
                "cluster.nodes[0].unhealthy_gpus[0]": "are 0 to 7",
                "cluster.nodes[0].unhealthy_gpus[2]": "twice",
            },
        ),
        (
            {"nodes": "[{name: a, shape: plain, unhealthy_gpus: [0]}]"},
            {"cluster.nodes[0].unhealthy_gpus[0]": "has no GPUs"},
        ),
        (
            {"nodes": "[{name: a, shape: hgx, maintenance: [{from: '+2h', until: '+1h'}]}]"},
            {"cluster.nodes[0].maintenance[0].until": "before it begins"},
        ),
        ({"domains": "[{path: z1/r9}]"}, {"cluster.domains[0].path": "no node is in"}),
        ({"domains": "[{path: a/b/c}]"}, {"cluster.domains[0].path": "3 deep"}),
        ({"domains": "[{path: z1}, {path: z1}]"}, {"cluster.domains[1].path": "twice"}),
        (
            {
                "shapes": "{hgx: {cpu: 1, gpus: {model: A, count: 2, nvlink: [[0, 2], [0, 0]]}}, plain: {}}"
            },
            {
                "cluster.shapes.hgx.gpus.nvlink[0][1]": "are 0 to 1",
                "cluster.shapes.hgx.gpus.nvlink[1][0]": "twice",
                "cluster.shapes.hgx.gpus.nvlink[1][1]": "twice",
            },
        ),
        (
            {"shapes": "{hgx: {gpus: {model: A, count: 2, numa: [0]}}, plain: {}}"},
            {"cluster.shapes.hgx.gpus.numa": "1 NUMA domains for 2 GPUs"},
        ),
        (
            {
                "shapes": "{hgx: {numa: [{cpu: 1}], nics: [{numa: 1, bandwidth: 1Gbps}], gpus: {model: A, count: 1, numa: [1]}}, plain: {}}"
            },
            {
                "cluster.shapes.hgx.gpus.numa[0]": "no NUMA domain 1",
                "cluster.shapes.hgx.nics[0].numa": "no NUMA domain 1",
            },
        ),
        (
            {"shapes": "{hgx: {gpus: {model: A, count: 100000}}, plain: {}}"},
            {"cluster.shapes.hgx.gpus.count": "out of range"},
        ),
        (
            {"shapes": "{hgx: {cpu: 1, resources: {memory: 3}}, plain: {}}"},
            {"cluster.shapes.hgx.resources.memory": "a field of its own"},
        ),
        (
            {"shapes": "{hgx: {memory: 1Ei}, plain: {}}"},
            {"cluster.nodes": "more memory together"},
        ),
        # What runs.
        (run("node: n99"), {"cluster.running[0].tasks[0].node": "unknown node"}),
        (
            run("node: n01, gpus: 1, devices: [8]"),
            {"cluster.running[0].tasks[0].devices[0]": "0 to 7"},
        ),
        (
            run("node: c1, gpus: 1, devices: [0]"),
            {"cluster.running[0].tasks[0].devices[0]": "no GPUs"},
        ),
        (
            run("node: n01, gpus: 2, devices: [0]"),
            {"cluster.running[0].tasks[0].devices": "holds 2"},
        ),
        (
            run("node: n01, gpus: 0.5, devices: [0, 1]"),
            {"cluster.running[0].tasks[0].devices": "holds 1"},
        ),
        (run("node: n01, devices: [0]"), {"cluster.running[0].tasks[0].devices": "holds 0"}),
        (
            run("node: n01, gpus: 2, devices: [0, 0]"),
            {"cluster.running[0].tasks[0].devices[1]": "twice"},
        ),
        (
            run("node: n01, gpus: 1, gpu_memory: 1Gi"),
            {"cluster.running[0].tasks[0].gpu_memory": "one way"},
        ),
        (run("node: n01, mig_start: 1"), {"cluster.running[0].tasks[0].mig_start": "MIG"}),
        (run("node: n01", "ends: '-1h',"), {"cluster.running[0].ends": "before now"}),
        (run("node: n01", "started: '+1h',"), {"cluster.running[0].started": "after now"}),
        (run("node: n01", "duration: 1h,"), {"cluster.running[0].duration": "started"}),
        (run("node: n01", "started: '-1h', duration: 0,"), {"cluster.running[0].duration": "of 0"}),
        (
            run("node: n01", "started: '-1h', duration: 3h, ends: '+2h',"),
            {"cluster.running[0].duration": "leave one out"},
        ),
        (
            run("node: n01", "checkpoint: {last: '+1h'},"),
            {"cluster.running[0].checkpoint.last": "after now"},
        ),
        (
            run("node: n01", "topology: {required: row},"),
            {"cluster.running[0].topology.required": "unknown level"},
        ),
        ({"running": "[{job: r, tasks: []}]"}, {"cluster.running[0].tasks": "the list is empty"}),
        (
            {
                "running": "[{job: a, tasks: [{node: n01, gpus: 1, devices: [3]}]},"
                " {job: b, tasks: [{node: n01, gpus: 0.5, devices: [3]}]},"
                " {job: b, tasks: [{node: n02, gpus: 1, devices: [3]}]}]"
            },
            {
                "cluster.running[1].tasks[0].devices[0]": 'by a task of job "a"',
                "cluster.running[2].job": "twice",
            },
        ),
        (
            {"running": "[{job: train, tasks: [{node: n01}]}]"},
            {"jobs[0].name": "running already"},
        ),
        (
            {"reservations": "[{job: x, start: '+1h', tasks: [{node: zz, gpus: 1}]}]"},
            {"cluster.reservations[0].tasks[0].node": "unknown node"},
        ),
        # Queues.
        ({"queues": "[{name: a}, {name: a}]"}, {"cluster.queues[1].name": "twice"}),
        ({"queues": "[{name: a, parent: b}]"}, {"cluster.queues[0].parent": "unknown queue"}),
        (
            {"queues": "[{name: a, parent: c}, {name: b, parent: a}, {name: c, parent: b}]"},
            {"cluster.queues[0].parent": "circle: a -> c -> b -> a"},
        ),
        ({"queues": "[{name: a, parent: a}]"}, {"cluster.queues[0].parent": "circle"}),
        (
            {"queues": "[{name: root, parent: a}, {name: a}]"},
            {"cluster.queues[0].parent": "no parent"},
        ),
        (
            {"queues": "[{name: a, guarantee: {gpu: 1}}]"},
            {"cluster.queues[0].guarantee.gpu": "gpus"},
        ),
        (
            {"queues": "[{name: a, limit: {gpus: 1, cpu: -1}}]"},
            {"cluster.queues[0].limit.cpu": "negative"},
        ),
        (
            {"queues": "[{name: a, limit: {gpus/H1000: 1}}]"},
            {"cluster.queues[0].limit.gpus/H1000": "gpus/H100"},
        ),
        ({"queues": "[{name: a, weight: 0}]"}, {"cluster.queues[0].weight": "above 0"}),
        (
            {"queues": "[{name: a, guarantee: {gpus: 3}, limit: {gpus: 2}}]"},
            {"cluster.queues[0].guarantee.gpus": "above the queue's limit"},
        ),
        (
            {
                "queues": "[{name: p, guarantee: {gpus: 3}}, {name: a, parent: p, guarantee: {gpus: 2}},"
                " {name: b, parent: p, guarantee: {gpus: 2}}]"
            },
            {"cluster.queues[0].guarantee.gpus": "guaranteed more than this"},
        ),
        ({"queues": "[{name: prod}]", **job("queue: prd")}, {"jobs[0].queue": 'mean "prod"'}),
        # Jobs.
        ({"jobs": "[{name: j}]"}, {"jobs[0]": "asks for nothing"}),
        ({"jobs": "[{name: j, cpu: 0}]"}, {"jobs[0]": "asks for nothing"}),
        ({"jobs": "[{name: j, tasks: [{name: w}]}]"}, {"jobs[0].tasks[0]": "asks for nothing"}),
        ({"jobs": "[{name: j, tasks: []}]"}, {"jobs[0].tasks": "the list is empty"}),
        ({"jobs": "[{cpu: 1}]"}, {"jobs[0].name": "missing"}),
        ({"jobs": "[{name: j, cpuz: 1}]"}, {"jobs[0].cpuz": "did you mean cpu?"}),
        ({"jobs": "[{name: j, cpu: 1}, {name: j, cpu: 1}]"}, {"jobs[1].name": "twice"}),
        (
            {"jobs": "[{name: j, cpu: 1, gpus: 1, tasks: [{cpu: 1}]}]"},
            {"jobs[0].cpu": "the job has tasks", "jobs[0].gpus": "the job has tasks"},
        ),
        (
            {"jobs": "[{name: j, tasks: [{cpu: 1}, {cpu: 2}]}]"},
            {"jobs[0].tasks[1].name": "name of its own"},
        ),
        (job("memory: 1e400Gi"), {"jobs[0].memory": "256Gi"}),
        (job("memory: .nan"), {"jobs[0].memory": "not a finite number"}),
        (job("memory: -1"), {"jobs[0].memory": "negative"}),
        (job("gpus: 1.5"), {"jobs[0].gpus": "a share below 1"}),
        (
            job("gpus: 1, gpu_memory: 1Gi, mig: 1g.5gb"),
            {"jobs[0].gpu_memory": "one way", "jobs[0].mig": "one way"},
        ),
        (job("gpu: {model: A}, nic: per-gpu"), {"jobs[0].gpu": "no GPU", "jobs[0].nic": "no GPU"}),
        (job("gpus: 1, gpu: {model: [A, A]}"), {"jobs[0].gpu.model": "twice"}),
        (job("gpus: 1, gpu: {same: nvlnk}"), {"jobs[0].gpu.same": "did you mean nvlink?"}),
        (job("mig: big"), {"jobs[0].mig": "1g.10gb"}),
        (job("count: 0"), {"jobs[0].count": "too small"}),
        (job("count: 16.0"), {"jobs[0].count": "write 16"}),
        (job("count: {min: 3, max: 2}"), {"jobs[0].count": "above max"}),
        (job("count: {min: 3}"), {"jobs[0].count.max": "missing"}),
        (job("count: {min: 0, max: 3}"), {"jobs[0].count": "without any task"}),
        (job("count: 2000000"), {"jobs[0].count": "out of range"}),
        (job("priority: 1.5"), {"jobs[0].priority": "whole number"}),
        (job("priority: 99999999999"), {"jobs[0].priority": "out of range"}),
        (job("preemptible: 'yes'"), {"jobs[0].preemptible": "true or false"}),
        (job("duration: 0"), {"jobs[0].duration": "of 0"}),
        (job("intensity: -1"), {"jobs[0].intensity": "negative"}),
        (job("topology: {required: rck}"), {"jobs[0].topology.required": 'mean "rack"'}),
        (job("topology: unconstraint"), {"jobs[0].topology": "unconstrained"}),
        (job("topology: {requierd: rack}"), {"jobs[0].topology.requierd": "mean required?"}),
        (job("topology: [rack]"), {"jobs[0].topology": "a mapping is expected"}),
        (group("topology: {preferred: rck}"), {"jobs[0].tasks[0].topology.preferred": "rack"}),
        (job("spread: {level: rck, most: 1}"), {"jobs[0].spread.level": "rack"}),
        (job("spread: {level: rack}"), {"jobs[0].spread": "exactly one"}),
        (job("spread: {level: rack, most: 1, skew: 1}"), {"jobs[0].spread": "exactly one"}),
        (job("selector: [{key: a}]"), {"jobs[0].selector[0]": "at least one value"}),
        (job("selector: [{key: a, op: gt, value: 1}]"), {"jobs[0].selector[0].op": "mean Gt?"}),
        (
            job("selector: [{key: a, op: Gt, values: [1, 2]}]"),
            {"jobs[0].selector[0]": "exactly one"},
        ),
        (job("selector: [{key: a, op: Lt, value: x}]"), {"jobs[0].selector[0]": "dotted"}),
        (job("selector: [{key: a, op: Exists, value: x}]"), {"jobs[0].selector[0]": "no value"}),
        (
            job("tolerations: [{key: a, op: Exists, value: x}]"),
            {"jobs[0].tolerations[0]": "no value"},
        ),
        (job("tolerations: [{value: x}]"), {"jobs[0].tolerations[0]": "takes a key"}),
        (
            job("tolerations: [{key: a, effect: NoSchedul}]"),
            {"jobs[0].tolerations[0].effect": "NoSchedule?"},
        ),
        (
            job("near: [{level: rack, domains: [r1]}]"),
            {"jobs[0].near[0].domains[0]": 'mean "z1/r1"'},
        ),
        (
            job("near: [{level: zone, domains: [z1/r1]}]"),
            {"jobs[0].near[0].domains[0]": "of level zone"},
        ),
        (job("near: [{level: rack, domains: []}]"), {"jobs[0].near[0].domains": "empty"}),
        (job("near: [{level: row, domains: [x]}]"), {"jobs[0].near[0].level": "unknown level"}),
        (
            job("count: 7, slices: [{size: 2, level: rack}]"),
            {"jobs[0].slices[0].size": "do not divide 7"},
        ),
        (
            job("count: 12, slices: [{size: 6, level: rack}, {size: 4, level: zone}]"),
            {"jobs[0].slices[1].size": "around them", "jobs[0].slices[1].level": "not finer"},
        ),
        (job("slices: [{size: 1, level: rck}]"), {"jobs[0].slices[0].level": "rack"}),
        (
            job("bind: [{groups: [task, x], level: rack}]"),
            {"jobs[0].bind[0].groups[1]": "no group"},
        ),
        (job("bind: [{groups: [task], level: rack}]"), {"jobs[0].bind[0].groups": "at least two"}),
        (
            job("bind: [{groups: [task, task], level: rack}]"),
            {"jobs[0].bind[0].groups[1]": "twice"},
        ),
        (job("with: [{job: k, level: rack}]"), {"jobs[0].with[0].job": "unknown job"}),
        (
            job("with: [{job: j, level: rck}]"),
            {"jobs[0].with[0].job": "itself", "jobs[0].with[0].level": "rack"},
        ),
        (job("resources: {gpus: 1}"), {"jobs[0].resources.gpus": "a field of its own"}),
        (job("resources: {fpga: '1'}"), {"jobs[0].resources.fpga": "without quotes"}),
        (job("count: 1000000, memory: 1Pi"), {"jobs[0]": "more memory"}),
        # Policy.
        ({"policy": "{time_limit: 0}"}, {"policy.time_limit": "500ms"}),
        ({"policy": "{value: shares}"}, {"policy.value": "mean share?"}),
        (
            {"policy": "{reservations: {entitled: {gpus: 32}}}"},
            {"policy.reservations.entitled.gpus": ">=32"},
        ),
        (
            {"policy": "{reservations: {entitled: {gpu: '>=3'}}}"},
            {"policy.reservations.entitled.gpu": "gpus"},
        ),
        (
            {"policy": "{reservations: {entitled: {gpus: '>=x'}}}"},
            {"policy.reservations.entitled.gpus": "GPUs"},
        ),
        (
            {"policy": "{fragmentation: {target: [{level: rck}]}}"},
            {"policy.fragmentation.target[0].level": "rack"},
        ),
        ({"policy": "{fragmentation: {target: aut}}"}, {"policy.fragmentation.target": "auto"}),
        (
            {"policy": "{preemption: {enabled: yess}}"},
            {"policy.preemption.enabled": "true or false"},
        ),
        ({"policy": "{preemptions: {}}"}, {"policy.preemptions": "mean preemption?"}),
    ],
)
def test_what_is_wrong_is_named(sections: dict[str, str], expected: dict[str, str]) -> None:
    found = faults(document(**sections))
    assert found.keys() == expected.keys()
    for path, part in expected.items():
        assert part in found[path]
