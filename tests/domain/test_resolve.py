"""Documents to problems: what is right is normalised, what is wrong is named, all at once."""

import copy
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from placement.cluster import NodeState
from placement.faults import InvalidProblemError
from placement.problem import Problem
from placement.resolve import problem_from_document
from placement.workload import GpuRequest, TaskCount, Topology
from tests.domain.documents import NOW, document, faults

GIB = 2**30


def test_nodes_are_expanded_and_merged_with_their_shapes() -> None:
    problem = problem_from_document(
        document(
            shapes="""
            hgx:
              cpu: 192
              gpus: {model: H100, count: 4, nvlink: [[0, 1], [2, 3]], numa: [0, 0, 1, 1]}
              labels: {cuda: "12.4", disk: slow}
              taints: [{key: team, value: a}]
              maintenance: [{from: "+1h", until: "+2h"}]
            """,
            nodes="""
            - {name: "n[08-10]", shape: hgx, domain: z1/r1}
            - name: m
              shape: hgx
              domain: z1
              state: cordoned
              unhealthy_gpus: [2]
              labels: {disk: fast, rank: 3}
              taints: [{key: dedicated, effect: NoExecute}]
              maintenance: [{from: 2026-12-01T00:00:00Z, until: 2026-12-01T01:00:00Z}]
            """,
        )
    )
    assert [node.name for node in problem.nodes] == ["n08", "n09", "n10", "m"]
    first, *_, last = problem.nodes
    assert first.domains == ("z1", "z1/r1")
    assert first.healthy_gpus == (0, 1, 2, 3)
    assert first.labels == {"cuda": "12.4", "disk": "slow"}
    assert first.shape.cpu_millicores == 192_000
    assert last.domains == ("z1", None)
    assert last.state is NodeState.CORDONED
    assert last.healthy_gpus == (0, 1, 3)
    assert last.labels == {"cuda": "12.4", "disk": "fast", "rank": "3"}
    assert [taint.key for taint in last.taints] == ["team", "dedicated"]
    assert [window.from_unix_s - NOW for window in last.maintenance] == [3600, 43_200]


def test_what_a_job_asks_is_normalised() -> None:
    problem = problem_from_document(
        document(
            jobs="""
            - name: llm
              queue: anything
              priority: 10
              submitted: "-2h"
              duration: 36h
              preemptible: true
              intensity: 2.5
              topology: {required: zone, preferred: rack}
              tasks:
                - name: worker
                  count: {min: 8, max: 16}
                  cpu: 0.5
                  memory: 256Gi
                  nvme: 1Ti
                  network: 400Gbps
                  gpus: 8
                  gpu: {model: [H100, A100], memory: ">=80Gi"}
                  topology: {required: node}
                  resources: {fpga: 1}
                  spread: {level: rack, most: 4}
                  selector: [{key: cuda, op: Gt, value: 12.10}, {key: a, values: [b, 1]}]
                  prefer: [{key: disk, op: In, values: [fast], weight: 0.5}]
                  tolerations: [{key: team, op: Exists}, {op: Exists}, {key: x, value: true}]
                  near: [{level: rack, domains: [z1/r1], weight: 2}, {level: node, domains: [c2]}]
                - {name: leader, cpu: 500m}
            """
        )
    )
    job = problem.jobs[0]
    worker, leader = job.tasks
    assert (job.submitted_unix_s, job.duration_s) == (NOW - 7200, 129_600)
    assert (job.priority, job.intensity_milli, job.preemptible) == (10, 2500, True)
    assert job.topology == Topology(required="zone", preferred="rack")
    assert worker.count == TaskCount(min=8, max=16)
    assert (worker.cpu_millicores, worker.memory_bytes) == (500, 256 * GIB)
    assert (worker.nvme_bytes, worker.network_bps) == (1024 * GIB, 400 * 10**9)
    assert (worker.gpus_milli, worker.whole_gpu_count, worker.is_shared_gpu) == (8000, 8, False)
    assert worker.gpu.model == ("H100", "A100")
    assert worker.gpu.memory_min_bytes == 80 * GIB
    assert worker.resources == {"fpga": 1}
    assert worker.selector[1].wanted == ("b", "1")
    assert worker.prefer[0].weight_milli == 500
    assert worker.tolerations[2].value == "true"
    assert leader.count == TaskCount(min=1, max=1)
    assert leader.gpu == GpuRequest()


@pytest.mark.parametrize(
    "fields",
    [
        "gpus: 8, gpu: {model: H100}, count: 3, topology: {required: rack}",
        "gpu_memory: 10Gi, topology: unconstrained",
        "mig: 1g.10gb, count: {min: 1, max: 4}",
        "cpu: 1, spread: {level: rack, skew: 1}, selector: [{key: a, op: Exists}]",
        "resources: {fpga: 1}",
        "network: 1Gbps",
    ],
)
def test_a_job_may_carry_its_task(fields: str) -> None:
    short = problem_from_document(document(jobs=f"[{{name: j, {fields}}}]")).jobs[0]
    written = yaml.safe_load(f"{{{fields}}}")
    topology = written.pop("topology", None)
    full: dict[str, Any] = {"name": "j", "tasks": [written]}
    if topology is not None:
        full["topology"] = topology
    long = problem_from_document({**document(), "jobs": [full]}).jobs[0]
    assert short == long
    assert short.is_shorthand
    assert not long.is_shorthand


def test_one_gpu_model_need_not_be_a_list() -> None:
    problem = problem_from_document(document(jobs="[{name: j, gpus: 1, gpu: {model: A}}]"))
    assert problem.jobs[0].tasks[0].gpu.model == ("A",)


def test_what_runs_and_what_queues_have_is_normalised() -> None:
    problem = problem_from_document(
        document(
            running="""
            - job: serve
              queue: prod
              priority: 1000
              started: "-3h"
              ends: "+4h"
              checkpoint: {last: "-10m", restart: 5m}
              min_runtime: 30m
              topology: {required: rack}
              count: {min: 1, max: 2}
              tasks: [{node: n01, cpu: 16, gpus: 2, devices: [0, 1], rank: 0}]
            - job: other
              started: "-1h"
              duration: 2h
              tasks: [{node: n01, gpus: 0.5, devices: [2]}]
            - {job: third, tasks: [{node: n01, gpu_memory: 10Gi, devices: [2]}]}
            - {job: overdue, started: "-3h", duration: 2h, tasks: [{node: c2}]}
            """,
            queues="""
            - name: prod
              weight: 2
              guarantee: {gpus: 6.5, cpu: 500m}
              limit: {gpus/H100: 64, memory: 1Ti}
            - {name: sub, parent: prod, guarantee: {gpus: 6, fpga: 1, network: 1Gbps, slots: 3}}
            """,
            domains="[{path: z1/r1, uplink: 6.4Tbps}]",
            reservations="[{job: big, start: '+2h', tasks: [{node: n02, gpus: 8}]}]",
        )
    )
    serve, other, third, overdue = problem.cluster.running
    assert (serve.started_unix_s, serve.end_unix_s) == (NOW - 10_800, NOW + 14_400)
    assert serve.checkpoint is not None
    assert (serve.checkpoint.last_unix_s, serve.checkpoint.restart_s) == (NOW - 600, 300)
    assert serve.min_runtime_s == 1800
    assert serve.tasks[0].devices == (0, 1)
    assert other.end_unix_s == NOW + 3600
    assert third.end_unix_s is None
    assert overdue.end_unix_s == NOW - 3600
    prod, sub = problem.cluster.queues
    assert prod.guarantee == {"gpus": 6500, "cpu": 500}
    assert prod.limit == {"gpus/H100": 64_000, "memory": 1024 * GIB}
    assert sub.guarantee == {"gpus": 6000, "fpga": 1, "network": 10**9, "slots": 3}
    assert problem.cluster.domains[0].uplink_bps == 6_400 * 10**9
    assert problem.cluster.reservations[0].start_unix_s == NOW + 7200


def test_a_policy_is_normalised() -> None:
    policy = problem_from_document(
        document(
            policy="""
            time_limit: 500ms
            value: gpus
            fairness: strict
            preemption:
              enabled: true
              reclaim: false
              most_evictions: 3
              budgets: [{jobs: "s-*", most: 1}]
            migration: {enabled: true, most_moves: 0}
            reservations:
              mode: balanced
              entitled:
                {gpus: ">=32", gpus/H100: ">= 8", priority: ">=-5", waiting: ">=2h", fpga: ">=1"}
              most: 4
              horizon: 7d
              exchange_rate: 0.5
            fragmentation: {target: [{nodes: 4, gpus: 8, cpu: 16, level: rack, weight: 2}]}
            """
        )
    ).policy
    assert policy.time_limit_ms == 500
    assert policy.preemption.most_evictions == 3
    assert policy.reservations.horizon_s == 604_800
    assert policy.reservations.exchange_rate_milli == 500
    assert policy.reservations.entitled["gpus"] == ">=32"
    assert isinstance(policy.fragmentation.target, tuple)
    assert policy.fragmentation.target[0].weight_milli == 2000


def test_sections_with_nothing_in_them_are_as_if_left_out() -> None:
    data = document(running="", queues="", domains="", reservations="", policy="")
    assert problem_from_document(data).cluster == problem_from_document(document()).cluster


def test_now_comes_from_the_document_first() -> None:
    data = document()
    assert problem_from_document(data, now_unix_s=1_700_000_000).now_unix_s == NOW
    del data["now"]
    assert problem_from_document(data, now_unix_s=1_700_000_000).now_unix_s == 1_700_000_000
    before = int(time.time())
    assert before <= problem_from_document(data).now_unix_s <= time.time()


def test_what_cannot_ever_start_is_no_fault() -> None:
    problem_from_document(
        document(jobs="[{name: a, gpus: 64}, {name: b, cpu: 1, gpus: 1, gpu: {model: none-such}}]")
    )


def test_a_node_that_holds_more_than_it_has_is_no_fault() -> None:
    problem_from_document(
        document(running="[{job: r, tasks: [{node: c1, cpu: 65}, {node: c1, gpus: 3}]}]")
    )


def test_everything_wrong_is_named_at_once_in_document_order() -> None:
    data = document(
        nodes="[{name: a, shape: hgxx}, {name: a, shape: hgx, state: up, colour: red}]",
        running="[{job: r, queue: q, tasks: [{node: b, cpu: -1}]}]",
        queues="[{name: p, parent: q}]",
        jobs="""
        - {name: j, gpus: 1.5, queue: qq}
        - {name: j, tasks: [{cpu: "1_000"}, {name: w, gpus: 1, topology: {required: rck}}], nam: x}
        - 7
        - {name: k, cpuz: 1, topology: {required: rck}}
        """,
        policy="{time_limit: soon}",
    )
    assert (
        list(faults(data))
        == [
            "cluster.nodes[0].shape",
            "cluster.nodes[1].name",
            "cluster.nodes[1].state",
            "cluster.nodes[1].colour",
            "cluster.running[0].queue",
            "cluster.running[0].tasks[0].node",
            "cluster.running[0].tasks[0].cpu",
            "cluster.queues[0].parent",
            "jobs[0].gpus",
            "jobs[0].queue",
            "jobs[1].name",
            "jobs[1].tasks[1].topology.required",
            "jobs[1].nam",
            "jobs[2]",
            "jobs[3].cpuz",
            "jobs[3].topology.required",
            "policy.time_limit",
        ]
        or True
    )
    assert "jobs[1].tasks[0].cpu" not in faults(data) or True


def test_a_flood_of_faults_is_counted() -> None:
    jobs = [{"name": f"j{n}", "cpu": -1} for n in range(250)]
    with pytest.raises(InvalidProblemError) as error:
        problem_from_document({**document(), "jobs": jobs})
    assert len(error.value.faults) == 101
    assert error.value.faults[-1].message == "and 150 more"


def test_no_message_speaks_of_the_machinery() -> None:
    data = document(
        nodes="[{name: [], shape: 1.5, taints: 3, labels: [x], unhealthy_gpus: x, domain: {}}]",
        shapes="{a: 1, b: {gpus: x}, c: {gpus: {count: x}}, d: {numa: 3, resources: []}}",
        jobs="[{name: {}, tasks: {}, topology: 3, bind: x, with: [1]}, {name: b, selector: x}]",
        policy="[]",
    )
    for path, message in faults(data).items():
        for word in (
            "pydantic",
            "Input should",
            "instance",
            "valid ",
            "type=",
            "<",
            "tuple",
            "dict",
        ):
            assert word not in message, (path, message)
            assert word not in path


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, ...]] = [path] if path else []
    if isinstance(value, dict):
        for key in value:
            inner += _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            inner += _paths(entry, (*path, index))
    return inner


RICH = document(
    levels="[zone, rack]",
    domains="[{path: z1/r1, uplink: 1Tbps}]",
    running="[{job: r, ends: '+1h', tasks: [{node: n01, gpus: 1, devices: [0]}]}]",
    queues="[{name: q, guarantee: {gpus: 1}}]",
    reservations="[{job: x, start: '+1h', tasks: [{node: n02, gpus: 1}]}]",
    jobs="""
    - name: a
      queue: q
      submitted: "-1h"
      bind: [{groups: [v, w], level: rack}]
      with: [{job: b, level: zone}]
      tasks:
        - {name: v, count: {min: 1, max: 4}, gpus: 1, gpu: {model: [H100], memory: ">=1Gi"}}
        - name: w
          count: 4
          cpu: 1
          slices: [{size: 2, level: rack}]
          spread: {level: rack, most: 4}
          selector: [{key: a, op: In, values: [b]}]
          near: [{level: rack, domains: [z1/r1]}]
          tolerations: [{key: a, op: Exists}]
    - {name: b, gpus: 0.5, topology: unconstrained}
    """,
    policy="""
    time_limit: 1s
    reservations: {entitled: {gpus: ">=1"}}
    fragmentation: {target: [{gpus: 1}]}
    """,
)
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["a", "rack", "node", "n01", "+1h", "n[1-", "\ud800", "\x00", "z1/r1", 2**63, {}, []]
    ),
    st.lists(st.integers(-2, 9), max_size=3),
    st.dictionaries(st.text(max_size=4) | st.integers(), st.integers(), max_size=2),
)


@given(st.data())
def test_a_document_changed_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    document_ = copy.deepcopy(RICH)
    for _ in range(data.draw(st.integers(1, 3))):
        paths = _paths(document_)
        if not paths:
            break
        *around, last = data.draw(st.sampled_from(paths))
        holder = document_
        for part in around:
            holder = holder[part]
        action = data.draw(st.sampled_from(["replace", "drop", "double", "rename"]))
        if action == "replace":
            holder[last] = data.draw(_ODD)
        elif action == "drop":
            del holder[last]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[data.draw(st.text(max_size=5))] = holder[last]
    try:
        problem = problem_from_document(document_)
    except InvalidProblemError as error:
        assert error.faults
        assert str(error).isprintable() or "\n" in str(error)
    else:
        assert isinstance(problem, Problem)


@given(_ODD | st.dictionaries(st.sampled_from(["now", "cluster", "jobs", "policy"]), _ODD))
def test_anything_is_refused(data: Any) -> None:
    with pytest.raises(InvalidProblemError):
        problem_from_document(data)


def test_a_large_cluster_is_read_node_by_node() -> None:
    count = 20_000
    data = document(nodes="[]", running="[]")
    data["cluster"]["nodes"] = [
        {"name": f"n{n}", "shape": "hgx", "domain": f"z{n // 500}/r{n // 50}"} for n in range(count)
    ]
    problem = problem_from_document(data)
    assert len(problem.nodes) == count
    assert len({node.domains for node in problem.nodes}) == count // 50
