"""Problem files: several make one document, and every fault has its file and line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.faults import InvalidProblemError
from placement.problem_file import load_problem
from tests.domain.documents import BASE, NOW, document

CLUSTER = """\
levels: [rack]
shapes:
  a: {cpu: 8}
nodes:
  - {name: n1, shape: a, domain: r1}
"""
JOBS = """\
- name: j
  cpu: 1
"""


def indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


WHOLE = f"now: 2026-11-30T12:00:00Z\ncluster:\n{indented(CLUSTER)}jobs:\n{JOBS}"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(*paths: Path | str, **sections: Path) -> list[str]:
    with pytest.raises(InvalidProblemError) as error:
        load_problem(paths, **sections)  # type: ignore[arg-type]
    return [
        str(fault).replace(str(Path(fault.file or "?").parent) + "/", "", 1)
        for fault in error.value.faults
    ]


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    data = document()
    as_yaml = load_problem([write(tmp_path / "p.yaml", BASE)])
    as_json = load_problem([write(tmp_path / "p.json", json.dumps(data))])
    unnamed = load_problem([write(tmp_path / "p", json.dumps(data, indent=2))])
    assert as_yaml == as_json == unnamed
    assert as_yaml.now_unix_s == NOW


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_labels_are_as_written(tmp_path: Path, suffix: str) -> None:
    text = json.dumps(document()).replace('"cpu": 192', '"labels": {"cuda": 12.10, "x": true}')
    problem = load_problem([write(tmp_path / f"p.{suffix}", text)])
    assert problem.nodes[0].labels == {"cuda": "12.10", "x": "true"}


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert load_problem([write(tmp_path / "p.yaml", b"\xef\xbb\xbf" + WHOLE.encode())]).jobs


def test_line_ends_of_windows_are_no_matter(tmp_path: Path) -> None:
    text = WHOLE.replace("cpu: 1\n", "cpu: -1\n").replace("\n", "\r\n")
    (fault,) = refused(write(tmp_path / "p.yaml", text))
    assert fault.startswith("p.yaml:10: jobs[0].cpu: ")


@pytest.mark.parametrize("now", ["now: 2026-11-30T12:00:00Z\n", ""])
@pytest.mark.parametrize("bare", [True, False])
def test_sections_may_have_files_of_their_own(tmp_path: Path, bare: bool, now: str) -> None:
    cluster = write(
        tmp_path / "c.yaml", now + (CLUSTER if bare else f"cluster:\n{indented(CLUSTER)}")
    )
    jobs = write(tmp_path / "j.yaml", JOBS if bare else f"jobs:\n{JOBS}")
    policy_text = "time_limit: 1s" if bare else "policy: {time_limit: 1s}"
    policy = write(tmp_path / "p.yaml", policy_text)
    problem = load_problem([], cluster=cluster, jobs=jobs, policy=policy, now_unix_s=NOW)
    assert (problem.now_unix_s, problem.policy.time_limit_ms) == (NOW, 1000)
    assert [node.name for node in problem.nodes] == ["n1"]
    assert [job.name for job in problem.jobs] == ["j"]


def test_lists_of_several_files_are_joined(tmp_path: Path) -> None:
    first = write(tmp_path / "1.yaml", WHOLE)
    second = write(
        tmp_path / "2.yaml",
        """\
now: 2026-11-30T12:00:00Z
cluster:
  levels: [rack]
  shapes: {b: {cpu: 2}}
  nodes: [{name: n2, shape: b}]
  running: [{job: r, tasks: [{node: n1, cpu: 1}]}]
jobs:
- {name: k, cpu: 1}
""",
    )
    third = write(tmp_path / "3.json", '[{"name": "l", "cpu": 1}]')
    problem = load_problem([first, second], jobs=third)
    assert [node.name for node in problem.nodes] == ["n1", "n2"]
    assert [job.name for job in problem.jobs] == ["j", "k", "l"]
    assert [job.job for job in problem.cluster.running] == ["r"]


def test_faults_are_placed_in_the_file_they_are_in(tmp_path: Path) -> None:
    first = write(tmp_path / "1.yaml", WHOLE.replace("cpu: 8", "cpu: -8"))
    second = write(
        tmp_path / "2.yaml", "cluster:\n  nodes:\n  - name: n2\n    shape: b\n  levels: [zone]\n"
    )
    third = write(tmp_path / "3.json", '[\n{"name": "l", "cpu": 1},\n{"name": "j",\n"cpuz": 1}]')
    assert refused(first, second, jobs=third) == [
        "1.yaml:5: cluster.shapes.a.cpu: -8 is negative; write cores (32, 0.5) or millicores "
        '("500m")',
        '2.yaml:4: cluster.nodes[0].shape: unknown shape "b"; there is "a"',
        f"2.yaml:5: cluster.levels: is given otherwise in {first}",
        '3.json:3: jobs[1].name: job "j" is listed twice',
        "3.json:4: jobs[1].cpuz: unknown key; did you mean cpu?",
    ]


def test_every_fault_has_its_line_and_none_hides_another(tmp_path: Path) -> None:
    text = """\
now: 2026-11-30T12:00:00Z
cluster:
  levels: [rack]
  shapes:
    a:
      cpu: 8
      cpu: 9
      memory: 3Gib
  nodes:
    - {name: n1, shape: a, domain: r1}
    - name: n1
      shape: aa
jobs:
  - &j
    name: j
    gpus: 1.5
  - *j
  - name: k
    topology:
      required: rck
    tasks:
    - cpu: 1
      selector:
      - {key: a}
"""
    assert [
        fault.rsplit(": ", 1)[0].split(": ")[:2]
        for fault in refused(write(tmp_path / "p.yaml", text))
    ] == [
        ["p.yaml:7", "cluster.shapes.a.cpu"],
        ["p.yaml:8", "cluster.shapes.a.memory"],
        ["p.yaml:11", "cluster.nodes[1].name"],
        ["p.yaml:12", "cluster.nodes[1].shape"],
        ["p.yaml:16", "jobs[0].gpus"],
        ["p.yaml:17", "jobs[1].name"],
        ["p.yaml:17", "jobs[1].gpus"],
        ["p.yaml:20", "jobs[2].topology.required"],
        ["p.yaml:24", "jobs[2].tasks[0].selector[0]"],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "p.yaml: is empty"),
        (b" \n\n", "p.yaml: is empty"),
        (b"# only a comment\n", "p.yaml: is empty"),
        (b"---\n", "p.yaml: is empty"),
        (b"a: 1\nb: \xff\n", "p.yaml:2: is not UTF-8: byte 8 is 0xff"),
        ("a: ä".encode("latin-1"), "p.yaml:1: is not UTF-8: byte 3 is 0xe4"),
        (b"a: 1\n\0", "p.yaml:2: is not text: byte 5 is NUL"),
        ("a: 1".encode("utf-16"), "p.yaml: is UTF-16; save it as UTF-8"),
        (
            b"a: 1\nb: \x1b[31m\n",
            "p.yaml:2: is not YAML: the character U+001B is not allowed in text",
        ),
        (b"\x7fELF\x02\x01\x01\x00", "p.yaml:1: is not text: byte 7 is NUL"),
        (b"a: b\n---\nc: d\n", "p.yaml:2: holds more than one document"),
        (b"- 1\n", "p.yaml: a list where a mapping with cluster and jobs is expected"),
        (b"hello", 'p.yaml: "hello" where a mapping with cluster and jobs is expected'),
        (
            b'{"a": 1',
            "p.yaml:1: is not YAML: while parsing a flow mapping did not find expected ',' or '}'",
        ),
    ],
)
def test_files_that_are_no_document(tmp_path: Path, content: bytes, message: str) -> None:
    assert refused(write(tmp_path / "p.yaml", content)) == [message]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yaml") == ["none.yaml: there is no such file"]
    (tmp_path / "dir").mkdir()
    assert refused(tmp_path / "dir") == ["dir: is a directory, not a file"]
    assert refused("a\0b") == ["a\0b: is not a file name"]
    assert refused() == ["there is no problem file"]
    good, bad = write(tmp_path / "g.yaml", WHOLE), write(tmp_path / "b.yaml", b"\xff")
    assert refused(good, bad, tmp_path / "none") == [
        "b.yaml:1: is not UTF-8: byte 0 is 0xff",
        "none: there is no such file",
    ]


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.truncate(200 * 10**6)  # sparse: takes no room
    assert refused(large) == [f"large.yaml: is larger than {64 * 2**20} bytes"]
    assert refused("/dev/zero") == [f"zero: is larger than {64 * 2**20} bytes"]
    small = write(tmp_path / "small.yaml", WHOLE)
    assert load_problem([small], most_bytes=len(WHOLE)).jobs
    with pytest.raises(InvalidProblemError, match="is larger than"):
        load_problem([small], most_bytes=len(WHOLE) - 1)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (WHOLE, "1 node 1 job\n"),
        (WHOLE.replace("cpu: 1", "cpu: x"), "<stdin>:10: jobs[0].cpu"),
    ],
)
def test_standard_input(text: str, printed: str) -> None:
    program = (
        "from placement.faults import InvalidProblemError\n"
        "from placement.problem_file import load_problem\n"
        "try:\n"
        "    problem = load_problem(['-'])\n"
        "    print(len(problem.nodes), 'node', len(problem.jobs), 'job')\n"
        "except InvalidProblemError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith(printed)


def test_merge_keys_are_explained(tmp_path: Path) -> None:
    text = WHOLE + "- <<: {name: x}\n  name: y\n  cpu: 1\n"
    (fault,) = refused(write(tmp_path / "p.yaml", text))
    assert "merge keys are not part of YAML 1.2" in fault


@settings(max_examples=60)
@given(
    st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidProblemError):
        load_problem([path])


@settings(max_examples=60)
@given(st.data())
def test_a_file_with_a_few_bytes_changed_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(BASE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position : position + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=2) | st.sampled_from([b"{", b"}", b"[", b"*a", b"&a ", b": ", b"- "])
        )
    path = tmp_path_factory.getbasetemp() / "changed.yaml"
    path.write_bytes(bytes(content))
    try:
        problem = load_problem([path])
    except InvalidProblemError as error:
        assert all(fault.file for fault in error.faults)
    else:
        assert problem.nodes


def test_shared_cases_are_read(shared: Path, tmp_path: Path) -> None:
    cases = sorted((shared / "cases").glob("*.yaml"))
    assert cases
    for case in cases:
        content = yaml.safe_load(case.read_text(encoding="utf-8"))
        if "error" in content["expect"]:
            continue
        path = write(tmp_path / case.name, yaml.safe_dump(content["problem"], sort_keys=False))
        assert load_problem([path]).jobs, case.name
