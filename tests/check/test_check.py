"""The judge: a good answer passes, and for every rule there is a bad answer that breaks it.

          z1                          z2           in no domain
   r1             r2                  r3
h1    h2      h3     a1           t1     m1        c1  k1  f1
8     8       8      4 GPUs       8      8         -   8   8
a a . . . .   unnamed: . . . x    taint  down      cpu  |  over its
s . . . .     2 whole,            team   in 1 h     cordoned  capacity
              0.6 and 0.6
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from placement.answer import Action, Answer, Decision, TaskPlacement
from placement.check import Rule, check_answer
from placement.judge.gpus import UnverifiableError
from placement.problem import Problem
from placement.problem_file import problem_from_document
from tests.check.answers import Seat, answer_of

DOCUMENT = """
now: 2026-11-30T12:00:00Z
cluster:
  levels: [zone, rack]
  shapes:
    h:
      {cpu: 64, memory: 512Gi, nvme: 4Ti, network: 400Gbps, slots: 8, resources: {fpga: 2},
       gpus: {model: H100, memory: 80Gi, count: 8}, labels: {cuda: "12.4"}}
    a: {cpu: 32, memory: 256Gi, gpus: {model: A100, memory: 40Gi, count: 4}, labels: {cuda: "9.10"}}
    v: {cpu: 32, memory: 256Gi, gpus: {model: V100, count: 2}}
    c: {cpu: 16, memory: 64Gi}
  nodes:
    - {name: h1, shape: h, domain: z1/r1}
    - {name: h2, shape: h, domain: z1/r1}
    - {name: h3, shape: h, domain: z1/r2}
    - {name: a1, shape: a, domain: z1/r2, unhealthy_gpus: [3]}
    - {name: t1, shape: h, domain: z2/r3, taints: [{key: team, value: x}]}
    - {name: m1, shape: h, domain: z2/r3, maintenance: [{from: "+1h", until: "+2h"}]}
    - {name: v1, shape: v, domain: z2/r3}
    - {name: c1, shape: c}
    - {name: k1, shape: h, state: cordoned}
    - {name: f1, shape: h}
  running:
    - job: alpha
      tasks: [{node: h1, cpu: 4, memory: 8Gi, gpus: 2, devices: [0, 1]}]
    - job: beta
      tasks: [{node: h1, cpu: 1, memory: 8Gi, gpus: 0.5, devices: [2]}]
    - job: gamma
      tasks:
        - {node: h3, cpu: 1, memory: 8Gi, gpus: 2}
        - {node: h3, cpu: 1, memory: 8Gi, gpus: 0.6}
        - {node: h3, cpu: 1, memory: 8Gi, gpus: 0.6}
    - job: delta
      tasks:
        - {node: h2, cpu: 1, memory: 8Gi, network: 100Gbps}
        - {node: m1, cpu: 1, memory: 8Gi, network: 100Gbps}
    - job: epsilon
      tasks: [{node: f1, cpu: 65, memory: 8Gi}]
jobs:
  - name: train
    priority: 10
    duration: 4h
    topology: {required: rack, preferred: node}
    tasks:
      - {name: w, count: 2, cpu: 8, memory: 64Gi, gpus: 4, network: 200Gbps,
         gpu: {model: [H100, A100], memory: ">=40Gi"}}
  - {name: half, submitted: "-1h", duration: 30m, cpu: 1, memory: 1Gi, gpus: 0.5}
  - {name: part, submitted: "-2h", duration: 4h, cpu: 1, memory: 1Gi, gpu_memory: 40Gi}
  - name: serve
    topology: unconstrained
    duration: 30m
    tasks:
      - {name: r, count: 2, cpu: 2, memory: 1Gi, spread: {level: node, most: 1}}
      - {name: s, count: {min: 1, max: 4}, cpu: 2, memory: 1Gi, spread: {level: zone, skew: 1},
         selector: [{key: cuda, op: Gt, value: "9.9"}]}
  - name: gang
    duration: 4h
    tasks:
      - {name: lead, cpu: 1, memory: 1Gi, topology: {required: node}}
      - {name: work, count: 3, cpu: 2, memory: 1Gi, topology: {required: rack}}
  - {name: late, priority: -5, cpu: 4, memory: 8Gi, gpus: 8, resources: {fpga: 1}, nvme: 1Ti}
policy:
  fragmentation:
    target:
      - {gpus: 8}
      - {nodes: 2, gpus: 2, level: rack, weight: 0.5}
      - {cpu: 8, memory: 8Gi, weight: 0.1}
"""

STARTS: dict[str, list[Seat]] = {
    "train": [("w", "h1", (3, 4, 5, 6)), ("w", "h2", (0, 1, 2, 3))],
    "half": [("task", "h1", (2,))],
    "part": [("task", "a1", (0,))],
    "serve": [("r", "h1", ()), ("r", "c1", ()), ("s", "h2", ()), ("s", "a1", ()), ("s", "m1", ())],
    "gang": [("lead", "h3", ()), ("work", "h3", ()), ("work", "h3", ()), ("work", "a1", ())],
}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_from_document(yaml.safe_load(DOCUMENT))


@pytest.fixture(scope="module")
def good(problem: Problem) -> Answer:
    return answer_of(problem, STARTS)


def test_a_good_answer_has_no_violations(problem: Problem, good: Answer) -> None:
    assert check_answer(problem, good) == ()


def test_nothing_started_is_a_good_answer_too(problem: Problem) -> None:
    assert check_answer(problem, answer_of(problem, {})) == ()


def test_running_tasks_without_devices_make_way_within_what_is_consistent(
    problem: Problem,
) -> None:
    # Two whole and two times 0.6 take four of the eight GPUs of h3, whichever these are; the
    # answer may take any four.
    for gpus in ((4, 5, 6, 7), (0, 1, 2, 3), (0, 3, 5, 7)):
        starts = {"train": [("w", "h2", (0, 1, 2, 3)), ("w", "h2", (4, 5, 6, 7))]}
        assert check_answer(problem, answer_of(problem, starts)) == ()
        starts = {"train": [("w", "h3", gpus), ("w", "a1", (0, 1, 2))]}
        rules = {violation.rule for violation in check_answer(problem, answer_of(problem, starts))}
        assert Rule.GPU_ROOM not in rules and Rule.GPU_HELD_ONCE not in rules


# Each case replaces the seats of some jobs in the good answer, with all figures recomputed.
SEATS: list[tuple[Rule, str, dict[str, list[Seat]]]] = [
    (Rule.KNOWN_NAMES, "no such node", {"half": [("task", "h9", (2,))]}),
    (Rule.KNOWN_NAMES, "no such group", {"half": [("w", "h1", (2,))]}),
    (Rule.TASK_COUNT, "one of two", {"train": [("w", "h1", (3, 4, 5, 6))]}),
    (Rule.TASK_COUNT, "no task at all", {"half": []}),
    (
        Rule.TASK_COUNT,
        "more than max",
        {"serve": [*STARTS["serve"][:2], *[("s", n, ()) for n in ("h1", "h2", "h3", "m1", "m1")]]},
    ),
    (
        Rule.RANKS,
        "the leader comes last",
        {"gang": [*STARTS["gang"][1:], *STARTS["gang"][:1]]},
    ),
    (
        Rule.RANK_ORDER,
        "from h3 to a1 and back",
        {"gang": [STARTS["gang"][0], *[("work", n, ()) for n in ("h3", "a1", "h3")]]},
    ),
    (Rule.STATE, "cordoned", {"half": [("task", "k1", (0,))]}),
    (
        Rule.SELECTOR,
        "no label",
        {"serve": [*STARTS["serve"][:2], ("s", "c1", ())]},
    ),
    (Rule.TAINT, "not tolerated", {"half": [("task", "t1", (0,))]}),
    (Rule.MAINTENANCE, "runs into it", {"part": [("task", "m1", (0,))]}),
    (Rule.OVER_CAPACITY, "runs 65 of 64 CPUs already", {"half": [("task", "f1", (0,))]}),
    (
        Rule.CAPACITY,
        "slots of h1",
        {
            "serve": [("r", "h1", ()), ("r", "c1", ()), *[("s", "h1", ())] * 3, *[("s", "m1", ())]],
            "gang": [("lead", "h1", ()), *[("work", "h1", ())] * 3],
        },
    ),
    (
        Rule.CAPACITY,
        "a1 has no NVMe and no FPGA",
        {"late": [("task", "a1", (0, 1, 2))]},
    ),
    (
        Rule.NETWORK,
        "400 Gbps and what delta uses",
        {
            "train": [
                ("w", "h2", (0, 1, 2, 3)),
                ("w", "h2", (4, 5, 6, 7)),
                ("w", "h1", (3, 4, 5, 6)),
            ]
        },
    ),
    (Rule.GPU_COUNT, "three for four", {"train": [("w", "h1", (3, 4, 5)), STARTS["train"][1]]}),
    (Rule.GPU_COUNT, "none for a share", {"half": [("task", "h1", ())]}),
    (Rule.GPU_COUNT, "two for a share", {"half": [("task", "h2", (6, 7))]}),
    (
        Rule.GPU_COUNT,
        "some for a task without",
        {"gang": [("lead", "h3", (0,)), *STARTS["gang"][1:]]},
    ),
    (Rule.GPU_DISTINCT, "5 twice", {"train": [("w", "h1", (3, 4, 5, 5)), STARTS["train"][1]]}),
    (Rule.GPU_INDEX, "8 of 0-7", {"train": [("w", "h1", (3, 4, 5, 8)), STARTS["train"][1]]}),
    (Rule.GPU_INDEX, "negative", {"half": [("task", "h2", (-1,))]}),
    (Rule.GPU_HEALTHY, "3 of a1", {"part": [("task", "a1", (3,))]}),
    (
        Rule.GPU_MODEL,
        "V100",
        {"train": [("w", "v1", (0, 1)), ("w", "v1", (0, 1))]},
    ),
    (
        Rule.GPU_MEMORY,
        "by memory where none is stated",
        {"part": [("task", "v1", (0,))]},
    ),
    (
        Rule.GPU_HELD_ONCE,
        "held by alpha",
        {"train": [("w", "h1", (1, 4, 5, 6)), STARTS["train"][1]]},
    ),
    (
        Rule.GPU_HELD_ONCE,
        "held by both tasks",
        {"train": [("w", "h2", (0, 1, 2, 3)), ("w", "h2", (3, 4, 5, 6))]},
    ),
    (Rule.GPU_SHARED_OR_WHOLE, "held whole by alpha", {"half": [("task", "h1", (0,))]}),
    (
        Rule.GPU_SHARED_OR_WHOLE,
        "shared by beta",
        {"train": [("w", "h1", (2, 4, 5, 6)), STARTS["train"][1]]},
    ),
    (Rule.GPU_SHARE_SUM, "0.5 and 40 of 80 Gi and 0.5", {"part": [("task", "h1", (2,))]}),
    (
        Rule.GPU_ROOM,
        "gamma holds four of the eight, whichever",
        {"train": [("w", "h3", (0, 1, 2, 3)), ("w", "h3", (4, 5, 6, 7))]},
    ),
    (
        Rule.REQUIRED_TOPOLOGY,
        "two racks",
        {"train": [("w", "h2", (0, 1, 2, 3)), ("w", "m1", (0, 1, 2, 3))]},
    ),
    (
        Rule.REQUIRED_TOPOLOGY,
        "of a group",
        {"gang": [STARTS["gang"][0], *[("work", n, ()) for n in ("h2", "h2", "h3")]]},
    ),
    (
        Rule.REQUIRED_TOPOLOGY,
        "in no rack",
        {"gang": [STARTS["gang"][0], *[("work", "c1", ())] * 3]},
    ),
    (
        Rule.SPREAD_MOST,
        "two replicas on one node",
        {"serve": [("r", "c1", ()), ("r", "c1", ()), *STARTS["serve"][2:]]},
    ),
    (
        Rule.SPREAD_SKEW,
        "three in z1, none in z2",
        {"serve": [*STARTS["serve"][:2], *[("s", n, ()) for n in ("h1", "h2", "h3")]]},
    ),
]


@pytest.mark.parametrize(
    ("rule", "seats"), [pytest.param(r, s, id=f"{r.value}: {text}") for r, text, s in SEATS]
)
def test_a_bad_seat_breaks_its_rule(
    problem: Problem, rule: Rule, seats: dict[str, list[Seat]]
) -> None:
    bad = answer_of(problem, STARTS | seats)
    assert rule in {violation.rule for violation in check_answer(problem, bad)}


Change = Callable[[dict[str, Any]], object]


def _first(answer: dict[str, Any], tier: str) -> dict[str, Any]:
    found: dict[str, Any] = next(t for t in answer["objective"] if t["tier"] == tier)
    return found


def _train(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["decisions"][0]
    return found


# Each case changes the good answer as it is written, and nothing is recomputed.
CHANGES: list[tuple[Rule, str, Change]] = [
    (Rule.DECIDED_ONCE, "one is missing", lambda a: a["decisions"].pop()),
    (Rule.DECIDED_ONCE, "one twice", lambda a: a["decisions"].append(a["decisions"][1])),
    (Rule.DECIDED_ONCE, "an unknown job", lambda a: _train(a).update(job="trian")),
    (Rule.DECISION_ORDER, "turned round", lambda a: a["decisions"].reverse()),
    (Rule.ACTION, "reserve", lambda a: _train(a).update(action="reserve")),
    (Rule.ACTION, "waits with tasks", lambda a: _train(a).update(action="wait")),
    (Rule.WHY, "no reason", lambda a: a["decisions"][-1].pop("why")),
    (Rule.WHY, "an empty reason", lambda a: a["decisions"][-1].update(why={"summary": " "})),
    (Rule.RANKS, "0 and 2", lambda a: _train(a)["tasks"][1].update(rank=2)),
    (Rule.RANKS, "0 and 0", lambda a: _train(a)["tasks"][1].update(rank=0)),
    (Rule.RANKS, "-1 and 0", lambda a: [t.update(rank=t["rank"] - 1) for t in _train(a)["tasks"]]),
    (Rule.LOCAL_RANKS, "1 alone", lambda a: _train(a)["tasks"][1].update(local_rank=1)),
    (Rule.TIERS, "one is missing", lambda a: a["objective"].pop(2)),
    (Rule.TIERS, "in another order", lambda a: a["objective"].reverse()),
    (Rule.TIERS, "of another priority", lambda a: a["objective"][0].update(priority=9)),
    (Rule.TIERS, "of another level", lambda a: _first(a, "span").update(level="rack")),
    (
        Rule.TIER_VALUE,
        "more work, with its bound",
        lambda a: a["objective"][0].update(value=0.5, bound=0.5),
    ),
    (
        Rule.TIER_VALUE,
        "one unit less",
        lambda a: a["objective"][0].update(value=a["objective"][0]["value"] - 1e-9),
    ),
    (
        Rule.TIER_VALUE,
        "no span",
        lambda a: [t.update(value=0, bound=0) for t in a["objective"] if t["level"] == "node"],
    ),
    (
        Rule.TIER_VALUE,
        "more sets",
        lambda a: _first(a, "fragmentation").update(value=99.0, bound=99.0),
    ),
    (Rule.TIER_BOUND, "work above its bound", lambda a: a["objective"][0].update(bound=0.0)),
    (
        Rule.TIER_BOUND,
        "span below its bound",
        lambda a: [t.update(bound=t["value"] + 1) for t in a["objective"] if t["tier"] == "span"],
    ),
    (Rule.TIER_GAP, "no gap", lambda a: a["objective"][0].update(bound=0.9, status="feasible")),
    (Rule.TIER_GAP, "a gap of nothing", lambda a: a["objective"][0].update(gap=0.1)),
    (
        Rule.TIER_STATUS,
        "optimal with a gap",
        lambda a: _first(a, "fragmentation").update(
            bound=_first(a, "fragmentation")["value"] * 2, gap=0.5
        ),
    ),
    (
        Rule.TIER_STATUS,
        "proven, and says no",
        lambda a: a["objective"][0].update(status="feasible"),
    ),
    (Rule.STATUS, "all proven, and says no", lambda a: a.update(status="feasible")),
    (
        Rule.STATUS,
        "optimal, and one is not",
        lambda a: _first(a, "fragmentation").update(
            bound=_first(a, "fragmentation")["value"] * 2, gap=0.5, status="feasible"
        ),
    ),
    (Rule.SOLVER_GAP, "a gap that no tier has", lambda a: a["solver"].update(gap=0.25)),
    (
        Rule.FRAGMENTATION,
        "one GPU more",
        lambda a: a["fragmentation"]["after"].update(free_gpus_milli=1),
    ),
    (
        Rule.FRAGMENTATION,
        "one set more before",
        lambda a: a["fragmentation"]["before"]["sets"][0].update(count=9),
    ),
    (
        Rule.FRAGMENTATION,
        "less lost",
        lambda a: a["fragmentation"]["after"].update(fgd_milli_gpus=0),
    ),
]


@pytest.mark.parametrize(
    ("rule", "change"), [pytest.param(r, c, id=f"{r.value}: {text}") for r, text, c in CHANGES]
)
def test_a_false_statement_breaks_its_rule(
    problem: Problem, good: Answer, rule: Rule, change: Change
) -> None:
    document = copy.deepcopy(good.model_dump(mode="json"))
    change(document)
    bad = Answer.model_validate(document)
    assert rule in {violation.rule for violation in check_answer(problem, bad)}


def test_what_cannot_be_verified_is_a_violation() -> None:
    # 24 running shares, all multiples of 0.013, of 7.917 GPUs in all. They fit on nine GPUs; on
    # eight, of each of which they can use 0.988, they do not, but that is hard to see. An answer
    # that takes one of the nine is not accepted.
    milli = [13 * n for n in (11, *range(15, 38))]
    assert sum(milli) == 7917
    tasks = [{"node": "n", "cpu": 1, "gpus": share / 1000} for share in milli]
    document = {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "shapes": {"s": {"cpu": 99, "gpus": {"model": "X", "count": 9}}},
            "nodes": [{"name": "n", "shape": "s"}],
            "running": [{"job": "r", "tasks": tasks}],
        },
        "jobs": [{"name": "j", "cpu": 1, "gpus": 1}],
    }
    problem = problem_from_document(document)
    with pytest.raises(UnverifiableError, match="undecided"):
        answer_of(problem, {"j": [("task", "n", (0,))]})
    waits = answer_of(problem, {})
    starts = Decision(
        job="j",
        action=Action.START,
        tasks=(TaskPlacement(group="task", rank=0, node="n", gpus=(0,)),),
    )
    assert check_answer(problem, waits) == ()
    bad = waits.model_copy(update={"decisions": (starts,)})
    assert {violation.rule for violation in check_answer(problem, bad)} == {Rule.UNVERIFIABLE}


def test_every_rule_can_fail() -> None:
    shown = {rule for rule, *_ in SEATS} | {rule for rule, *_ in CHANGES} | {Rule.UNVERIFIABLE}
    assert shown == set(Rule)
