"""Protobuf and domain say the same: nothing lost, every fault named by its place in the message."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.answer import Answer
from placement.cluster import Cluster
from placement.faults import InvalidProblemError
from placement.policy import Policy
from placement.resolve import problem_from_document
from placement.service import codec
from placement.service.wire_tables import Pair, pair_of, wire_name
from placement.v1 import answer_pb2, problem_pb2
from placement.workload import Job
from tests.service.documents import COMPLETE, documents


def through_the_wire(problem: Any) -> Any:
    data = codec.problem_to_bytes(codec.problem_to_wire(problem))
    return codec.problem_from_bytes(data)


def test_every_field_survives() -> None:
    """Tests that a problem that uses every field comes back equal."""
    problem = problem_from_document(COMPLETE)
    assert through_the_wire(problem) == problem


def test_the_complete_document_is_complete() -> None:
    """Tests that the document above sets every field of every message to other than its default."""
    message = codec.problem_to_wire(problem_from_document(COMPLETE))
    seen: set[str] = set()
    known: set[str] = set()
    _collect(message, seen, known)
    # The first rank, and false where unset is false too, are the defaults.
    assert known - seen == {"placement.v1.FragmentationPolicy.auto"}


def _collect(message: Any, seen: set[str], known: set[str]) -> None:
    known |= {field.full_name for field in message.DESCRIPTOR.fields}
    for field, value in message.ListFields():
        seen.add(field.full_name)
        if field.message_type is None or field.message_type.full_name.startswith("google."):
            continue
        if field.message_type.GetOptions().map_entry:
            children = [value[key] for key in value if hasattr(value[key], "ListFields")]
        else:
            children = list(value) if field.is_repeated else [value]
        for child in children:
            _collect(child, seen, known)


@given(documents())
@settings(max_examples=60, deadline=None)
def test_any_problem_survives(document: dict[str, Any]) -> None:
    problem = problem_from_document(document)
    assert through_the_wire(problem) == problem


@given(documents())
@settings(max_examples=10, deadline=None)
def test_same_problem_same_bytes(document: dict[str, Any]) -> None:
    first, second = (
        codec.problem_to_bytes(codec.problem_to_wire(problem_from_document(document)))
        for _ in range(2)
    )
    assert first == second


def all_pairs() -> list[Pair]:
    """Every pair of a model and a message that the codec uses."""
    found: dict[str, Pair] = {}

    def walk(pair: Pair) -> None:
        if pair.descriptor.full_name in found:
            return
        found[pair.descriptor.full_name] = pair
        for field in pair.fields:
            for name in ("pair", "levels"):
                shape = getattr(field.shape, "item", field.shape)
                below = getattr(shape, name, None)
                if isinstance(below, Pair):
                    walk(below)
            sets = getattr(field.shape, "sets", None)
            if sets is not None:
                walk(sets.item.pair)

    problem = problem_pb2.Problem()
    walk(pair_of(Cluster, problem.cluster.DESCRIPTOR))
    walk(pair_of(Job, problem.jobs.add().DESCRIPTOR))
    walk(pair_of(Policy, problem.policy.DESCRIPTOR))
    walk(pair_of(Answer, answer_pb2.Answer.DESCRIPTOR))
    return list(found.values())


def test_unset_is_told_from_zero_wherever_they_differ() -> None:
    """Tests that a field without presence has the default zero: else zero could not be sent."""
    wrong = [
        f"{pair.descriptor.full_name}.{field.wire_name}"
        for pair in all_pairs()
        for field in pair.fields
        if not field.is_plain_and_required
        and not field.descriptor.has_presence
        and not field.descriptor.is_repeated
        and field.descriptor.enum_type is None
        and field.default != field.descriptor.default_value
    ]
    assert wrong == []
    assert len(all_pairs()) > 30


@pytest.mark.parametrize(
    ("model_name", "expected"),
    [
        ("memory_bytes", "memory_bytes"),
        ("until_unix_s", "until_time"),
        ("min_runtime_s", "min_runtime_duration"),
        ("duration_s", "duration"),
        ("time_limit_ms", "time_limit_duration"),
        ("with_", "with_jobs"),
    ],
)
def test_names_follow_one_rule(model_name: str, expected: str) -> None:
    assert wire_name(model_name) == expected


PLACES = [
    ("jobs[3].tasks[0].cpu", "problem.jobs[3].tasks[0].cpu_millicores"),
    ("jobs[0].with[1].level", "problem.jobs[0].with_jobs[1].level"),
    ("jobs[0].submitted", "problem.jobs[0].submitted_time"),
    ("jobs[0].topology", "problem.jobs[0].topology"),
    ("jobs[0].topology.required", "problem.jobs[0].topology.levels.required"),
    ("jobs[0].tasks[1].topology.required", "problem.jobs[0].tasks[1].topology.required"),
    ("jobs[0].tasks[1].prefer[2].weight", "problem.jobs[0].tasks[1].prefer[2].weight_milli"),
    ("cluster.shapes.hgx.memory", "problem.cluster.shapes.hgx.memory_bytes"),
    ('cluster.shapes["a.b"].gpus.memory', 'problem.cluster.shapes["a.b"].gpus.memory_bytes'),
    ("cluster.shapes.hgx.labels.x", "problem.cluster.shapes.hgx.labels.x"),
    ("cluster.shapes.s.gpus.nvlink[1][2]", "problem.cluster.shapes.s.gpus.nvlink[1].indices[2]"),
    (
        "cluster.running[0].tasks[1].devices[0]",
        "problem.cluster.running[0].tasks[1].devices.indices[0]",
    ),
    (
        "cluster.queues[0].limit.gpus/H100",
        "problem.cluster.queues[0].limit.gpus_milli_by_model.H100",
    ),
    ("cluster.queues[0].limit.cpu", "problem.cluster.queues[0].limit.cpu_millicores"),
    ("cluster.queues[0].guarantee.fpga", "problem.cluster.queues[0].guarantee.resources.fpga"),
    (
        "policy.fragmentation.target[1].cpu",
        "problem.policy.fragmentation.mix.sets[1].cpu_millicores",
    ),
    ("policy.time_limit", "problem.policy.time_limit_duration"),
    ("now", "problem.now_time"),
    ("jobs", "problem.jobs"),
    ("", "problem"),
]


@pytest.mark.parametrize(("document", "wire"), PLACES)
def test_places_are_translated_both_ways(document: str, wire: str) -> None:
    assert codec.wire_place(document) == wire
    assert codec.document_place(wire) == document


def change(path: str, value: object) -> Callable[[problem_pb2.Problem], None]:
    """Set one field of a message."""

    def apply(message: Any) -> None:
        *steps, last = path.split(".")
        for step in steps:
            message = message[int(step)] if step.isdigit() else getattr(message, step)
        setattr(message, last, value)

    return apply


BAD = [
    (change("jobs.0.tasks.0.cpu_millicores", -5), "problem.jobs[0].tasks[0].cpu_millicores"),
    (change("jobs.0.tasks.0.gpus_milli", 1500), "problem.jobs[0].tasks[0].gpus_milli"),
    (change("jobs.0.tasks.0.gpus_milli", -500), "problem.jobs[0].tasks[0].gpus_milli"),
    (change("jobs.0.tasks.0.memory_bytes", 2**62), "problem.jobs[0].tasks[0].memory_bytes"),
    (change("jobs.0.name", ""), "problem.jobs[0].name"),
    (change("jobs.0.queue", "nowhere"), "problem.jobs[0].queue"),
    (change("jobs.0.submitted_time.nanos", 5), "problem.jobs[0].submitted_time"),
    (change("jobs.0.submitted_time.seconds", 2**60), "problem.jobs[0].submitted_time"),
    (change("jobs.0.submitted_time.seconds", -(2**63)), "problem.jobs[0].submitted_time"),
    (change("jobs.0.duration.nanos", 5), "problem.jobs[0].duration"),
    (change("jobs.0.duration.nanos", -5), "problem.jobs[0].duration"),
    (change("jobs.0.duration.seconds", -1), "problem.jobs[0].duration"),
    (change("jobs.0.duration.seconds", 2**63 - 1), "problem.jobs[0].duration"),
    (change("jobs.1.topology.unconstrained", False), "problem.jobs[1].topology.unconstrained"),
    (change("cluster.nodes.0.state", 77), "problem.cluster.nodes[0].state"),
    (change("cluster.nodes.0.shape", "hgy"), "problem.cluster.nodes[0].shape"),
    (change("cluster.queues.0.weight_milli", -1), "problem.cluster.queues[0].weight_milli"),
    (
        change("cluster.queues.0.limit.cpu_millicores", -1),
        "problem.cluster.queues[0].limit.cpu_millicores",
    ),
    (change("policy.time_limit_duration.nanos", 1), "problem.policy.time_limit_duration"),
    (change("policy.fragmentation.auto", False), "problem.policy.fragmentation.auto"),
    (change("now_time.nanos", 1), "problem.now_time"),
]


@pytest.mark.parametrize(("spoil", "place"), BAD)
def test_each_fault_names_its_field(spoil: Callable[[Any], None], place: str) -> None:
    """Tests that one wrong field gives one fault, at that field."""
    message = codec.problem_to_wire(problem_from_document(COMPLETE))
    spoil(message)
    with pytest.raises(InvalidProblemError) as caught:
        codec.problem_from_wire(message)
    assert [fault.path for fault in caught.value.faults] == [place]


def test_all_faults_at_once() -> None:
    message = codec.problem_to_wire(problem_from_document(COMPLETE))
    changes = [BAD[0], BAD[6], BAD[14], BAD[15]]
    for spoil, _ in changes:
        spoil(message)
    with pytest.raises(InvalidProblemError) as caught:
        codec.problem_from_wire(message)
    assert {fault.path for fault in caught.value.faults} == {place for _, place in changes}


@pytest.mark.parametrize(
    ("where", "place"),
    [
        (lambda message: message, "problem"),
        (lambda message: message.jobs[1].tasks[0], "problem.jobs[1].tasks[0]"),
        (lambda message: message.cluster.shapes["hgx"], "problem.cluster.shapes.hgx"),
    ],
)
def test_what_is_not_known_is_never_ignored(where: Callable[[Any], Any], place: str) -> None:
    """Tests that a field of a later version is refused, and where it stands is said."""
    message = codec.problem_to_wire(problem_from_document(COMPLETE))
    where(message).MergeFromString(b"\xf8\x3f\x07")  # field 1023, a varint
    with pytest.raises(InvalidProblemError) as caught:
        codec.problem_from_wire(message)
    assert [(fault.path, fault.message) for fault in caught.value.faults] == [
        (place, "unknown field, number 1023")
    ]


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_invalid(data: bytes) -> None:
    with pytest.raises((codec.MalformedMessageError, InvalidProblemError)):
        codec.problem_from_bytes(data)


_floats = st.floats(-1e9, 1e9)
_texts = st.text(max_size=8)
_gpus = st.lists(st.integers(0, 15), max_size=3).map(tuple)
_report = st.fixed_dictionaries(
    {
        "sets": st.lists(
            st.fixed_dictionaries(
                {"nodes": st.integers(1, 9), "gpus": st.integers(0, 8)},
                optional={
                    "model": st.just("H100"),
                    "cpu_millicores": st.integers(1, 9),
                    "memory_bytes": st.integers(1, 2**60),
                    "level": st.just("rack"),
                },
            ).map(lambda row: {**row, "weight_milli": 7, "count": 3}),
            max_size=2,
        ),
        "weighted": _floats,
        "fgd_milli_gpus": st.integers(0, 2**40),
        "free_gpus_milli": st.integers(0, 2**40),
    }
)
answers = st.builds(
    Answer.model_validate,
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["optimal", "feasible"]),
            "objective": st.lists(
                st.fixed_dictionaries(
                    {
                        "tier": st.just("work"),
                        "priority": st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
                        "level": st.one_of(st.none(), st.just("rack")),
                        "value": _floats,
                        "bound": _floats,
                        "gap": st.floats(0, 1),
                        "status": st.sampled_from(["optimal", "feasible"]),
                    }
                ),
                max_size=2,
            ),
            "decisions": st.lists(
                st.one_of(
                    st.fixed_dictionaries(
                        {
                            "job": _texts,
                            "action": st.just("start"),
                            "tasks": st.lists(
                                st.fixed_dictionaries(
                                    {
                                        "group": _texts,
                                        "rank": st.integers(0, 99),
                                        "node": _texts,
                                        "local_rank": st.integers(0, 9),
                                        "gpus": _gpus,
                                    }
                                ),
                                max_size=2,
                            ),
                        }
                    ),
                    st.fixed_dictionaries(
                        {
                            "job": _texts,
                            "action": st.just("wait"),
                            "why": st.fixed_dictionaries(
                                {
                                    "summary": _texts,
                                    "conflict": st.lists(_texts, max_size=2),
                                    "fixes": st.lists(_texts, max_size=2),
                                    "nodes": st.dictionaries(_texts, st.integers(0, 9), max_size=2),
                                }
                            ),
                        }
                    ),
                ),
                max_size=2,
            ),
            "fragmentation": st.fixed_dictionaries({"before": _report, "after": _report}),
            "warnings": st.lists(_texts, max_size=2),
            "solver": st.fixed_dictionaries(
                {
                    "name": _texts,
                    "seconds": st.one_of(
                        st.none(), st.integers(0, 10**7).map(lambda ms: ms / 1000)
                    ),
                    "gap": st.floats(0, 1),
                    "seed": st.integers(0, 2**31),
                    "notes": st.lists(_texts, max_size=2),
                    "counts": st.dictionaries(_texts, st.integers(0, 2**40), max_size=2),
                }
            ),
        }
    ),
)


@given(answers)
@settings(max_examples=60, deadline=None)
def test_any_answer_survives(answer: Answer) -> None:
    assert codec.answer_from_bytes(codec.answer_to_bytes(answer)) == answer


@pytest.mark.parametrize(
    "message",
    [
        answer_pb2.Answer(),
        answer_pb2.Answer(status=answer_pb2.STATUS_OPTIMAL),
        answer_pb2.Answer(status=77),  # type: ignore[arg-type]
    ],
)
def test_half_an_answer_is_none(message: answer_pb2.Answer) -> None:
    with pytest.raises(codec.MalformedMessageError):
        codec.answer_from_wire(message)
