"""Random small problems, as documents that people could have written.

Small means that all plans can be tried: up to four nodes and four jobs of a few tasks. Every
feature that is honoured is drawn; amounts are few and small, so that jobs get in each other's way.
"""

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

GIB = 2**30
MODELS = ("A", "B")
VERSIONS = ("1.2", "1.10", "2", "beta")
NOW = "2026-11-30T12:00:00Z"


def _maybe(draw: st.DrawFn, chance: int, strategy: st.SearchStrategy[Any]) -> Any:
    """A value in one of ``chance`` cases, else None."""
    # The last number, not the first: problems shrink to those without the feature.
    return draw(strategy) if draw(st.integers(1, chance)) == chance else None


def _without_none(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}


taints = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["team", "old"]),
        "value": st.sampled_from(["a", "b"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    }
)
tolerations = st.one_of(
    st.fixed_dictionaries({"key": st.sampled_from(["team", "old"]), "op": st.just("Exists")}),
    st.fixed_dictionaries(
        {"key": st.just("team"), "op": st.just("Equal"), "value": st.sampled_from(["a", "b"])}
    ),
    st.just({"op": "Exists"}),
    st.just({"key": "team", "op": "Exists", "effect": "NoSchedule"}),
)
windows = st.sampled_from(
    [
        {"from": "+1h", "until": "+2h"},
        {"from": "-1h", "until": "+1h"},
        {"from": "-2h", "until": "-1h"},
    ]
)
selectors = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.just("v"),
            "op": st.sampled_from(["Gt", "Lt"]),
            "value": st.sampled_from(VERSIONS[:3]),
        }
    ),
    st.fixed_dictionaries(
        {
            "key": st.just("v"),
            "op": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(VERSIONS), min_size=1, max_size=2, unique=True),
        }
    ),
    st.fixed_dictionaries({"key": st.just("v"), "op": st.sampled_from(["Exists", "DoesNotExist"])}),
)


@st.composite
def _shape(draw: st.DrawFn) -> Document:
    gpus = None
    if draw(st.integers(1, 5)) > 1:
        gpus = _without_none(
            {
                "model": draw(st.sampled_from(MODELS)),
                "memory": draw(st.sampled_from([None, 8 * GIB, 16 * GIB, 16 * GIB])),
                "count": draw(st.integers(2, 4)),
            }
        )
    return _without_none(
        {
            "cpu": draw(st.integers(2, 6)),
            "memory": draw(st.integers(4, 9)) * GIB,
            "nvme": _maybe(draw, 2, st.just(2 * GIB)),
            "network": _maybe(draw, 2, st.sampled_from([10, 20])),
            "slots": _maybe(draw, 4, st.integers(1, 4)),
            "resources": _maybe(draw, 5, st.just({"fpga": 2})),
            "gpus": gpus,
            "labels": _maybe(draw, 2, st.fixed_dictionaries({"v": st.sampled_from(VERSIONS)})),
        }
    )


@st.composite
def _node(draw: st.DrawFn, name: str, shapes: Document, levels: list[str]) -> Document:
    shape = draw(st.sampled_from(sorted(shapes)))
    domain = None
    if levels and draw(st.integers(1, 8)) < 8:
        parts = [draw(st.sampled_from(["x", "y"])) for _ in levels]
        short = draw(st.integers(1, 6)) == 6
        domain = "/".join(parts[:1] if short else parts)
    unhealthy = None
    if "gpus" in shapes[shape] and draw(st.integers(1, 8)) == 8:
        unhealthy = [draw(st.integers(0, shapes[shape]["gpus"]["count"] - 1))]
    return _without_none(
        {
            "name": name,
            "shape": shape,
            "domain": domain,
            "state": _maybe(draw, 12, st.sampled_from(["cordoned", "draining", "down"])),
            "unhealthy_gpus": unhealthy,
            "labels": _maybe(draw, 4, st.fixed_dictionaries({"v": st.sampled_from(VERSIONS)})),
            "taints": _maybe(draw, 8, st.lists(taints, min_size=1, max_size=1)),
            "maintenance": _maybe(draw, 10, st.lists(windows, min_size=1, max_size=1)),
        }
    )


@st.composite
def _running(draw: st.DrawFn, number: int, nodes: list[Document], shapes: Document) -> Document:
    tasks = []
    for _ in range(draw(st.integers(1, 2))):
        node = draw(st.sampled_from(nodes))
        gpus = shapes[node["shape"]].get("gpus")
        task: Document = {"node": node["name"], "cpu": draw(st.sampled_from([0, 1, 1, 2]))}
        task["memory"] = draw(st.integers(1, 2)) * GIB
        task["network"] = draw(st.sampled_from([0, 0, 5]))
        if gpus is not None:
            match draw(st.sampled_from(["none", "whole", "share", "bytes"])):
                case "whole":
                    task["gpus"] = draw(st.integers(1, gpus["count"]))
                case "share":
                    task["gpus"] = draw(st.sampled_from([0.3, 0.5, 0.6]))
                case "bytes" if "memory" in gpus:
                    task["gpu_memory"] = draw(st.sampled_from([3, 4, 6])) * GIB
        tasks.append(task)
    return {"job": f"run{number}", "tasks": tasks}


@st.composite
def _with_devices(
    draw: st.DrawFn, running: list[Document], nodes: list[Document], shapes: Document
) -> list[Document]:
    """Name devices for some of the tasks, so that no GPU is held twice."""
    count = {node["name"]: shapes[node["shape"]].get("gpus", {}).get("count", 0) for node in nodes}
    whole: dict[str, set[int]] = {name: set() for name in count}
    shared: dict[str, set[int]] = {name: set() for name in count}
    for task in (task for job in running for task in job["tasks"]):
        name = task["node"]
        if not ("gpus" in task or "gpu_memory" in task) or draw(st.booleans()):
            continue
        open_gpus = [gpu for gpu in range(count[name]) if gpu not in whole[name]]
        if isinstance(task.get("gpus"), int):
            open_gpus = [gpu for gpu in open_gpus if gpu not in shared[name]]
            if len(open_gpus) >= task["gpus"]:
                chosen = draw(st.permutations(open_gpus))[: task["gpus"]]
                task["devices"] = sorted(chosen)
                whole[name].update(chosen)
        elif open_gpus:
            chosen = draw(st.sampled_from(open_gpus))
            shared[name].add(chosen)
            task["devices"] = [chosen]
    return running


@st.composite
def _group(draw: st.DrawFn, name: str, levels: list[str], most: int) -> Document:
    least = draw(st.integers(1, most))
    count: object = least
    if draw(st.integers(1, 4)) == 4:
        count = {"min": draw(st.integers(0, least)), "max": least}
    group: Document = {
        "name": name,
        "count": count,
        "cpu": draw(st.sampled_from([0, 1, 1, 2, "500m"])),
        "memory": draw(st.sampled_from([1, 1, 2, 3])) * GIB,
        "network": _maybe(draw, 4, st.sampled_from([5, 10, 60])),
        "nvme": _maybe(draw, 12, st.just(GIB)),
        "resources": _maybe(draw, 15, st.just({"fpga": 1})),
    }
    match draw(st.sampled_from(["none", "whole", "whole", "share", "bytes"])):
        case "whole":
            group["gpus"] = draw(st.sampled_from([1, 1, 2]))
        case "share":
            group["gpus"] = draw(st.sampled_from([0.3, 0.5, 0.7]))
        case "bytes":
            group["gpu_memory"] = draw(st.sampled_from([3, 5, 8])) * GIB
    if "gpus" in group or "gpu_memory" in group:
        group["gpu"] = _maybe(
            draw,
            4,
            st.one_of(
                st.fixed_dictionaries({"model": st.permutations(MODELS)}),
                st.fixed_dictionaries({"model": st.sampled_from(MODELS)}),
                st.just({"memory": f">={16 * GIB}"}),
            ),
        )
    every = [*levels, "node"]
    group["topology"] = _maybe(draw, 8, _topology(every))
    group["spread"] = _maybe(
        draw,
        5,
        st.fixed_dictionaries(
            {"level": st.sampled_from(every), "most": st.integers(1, 2)},
        )
        | st.fixed_dictionaries({"level": st.sampled_from(every), "skew": st.integers(1, 2)}),
    )
    group["selector"] = _maybe(draw, 12, st.lists(selectors, min_size=1, max_size=2))
    group["tolerations"] = _maybe(draw, 5, st.lists(tolerations, min_size=1, max_size=1))
    group["prefer"] = _maybe(
        draw,
        8,
        st.lists(
            st.builds(lambda s, w: {**s, "weight": w}, selectors, st.sampled_from([0.5, 1, 2])),
            min_size=1,
            max_size=1,
        ),
    )
    return _without_none(group)


def _topology(levels: list[str]) -> st.SearchStrategy[Document]:
    level = st.sampled_from(levels)
    return st.one_of(
        st.fixed_dictionaries({"required": level}),
        st.fixed_dictionaries({"preferred": level}),
    )


@st.composite
def _job(draw: st.DrawFn, number: int, levels: list[str]) -> Document:
    groups = draw(st.sampled_from([1, 1, 1, 2]))
    topology = _maybe(draw, 3, st.one_of(_topology([*levels, "node"]), st.just("unconstrained")))
    tasks = [
        draw(_group(f"g{index}", levels, most=3 if groups == 1 else 2)) for index in range(groups)
    ]
    if all(isinstance(task["count"], dict) and task["count"]["min"] == 0 for task in tasks):
        tasks[0]["count"]["min"] = 1
    return _without_none(
        {
            "name": f"job{number}",
            "priority": draw(st.sampled_from([0, 0, 0, 5])),
            "submitted": _maybe(draw, 2, st.sampled_from(["-1h", "-2h", "-1d"])),
            "duration": _maybe(draw, 2, st.sampled_from(["30m", "90m"])),
            "intensity": _maybe(draw, 6, st.sampled_from([0.5, 2])),
            "topology": topology,
            "tasks": tasks,
        }
    )


@st.composite
def _target(draw: st.DrawFn, levels: list[str]) -> Document:
    return _without_none(
        {
            "nodes": draw(st.sampled_from([1, 1, 2])),
            "gpus": draw(st.integers(0, 3)),
            "cpu": _maybe(draw, 3, st.integers(1, 2)),
            "memory": _maybe(draw, 4, st.just(GIB)),
            "model": _maybe(draw, 5, st.sampled_from(MODELS)),
            "level": _maybe(draw, 2, st.sampled_from([*levels, "node"])),
            "weight": _maybe(draw, 3, st.sampled_from([0.25, 3])),
        }
    )


@st.composite
def documents(draw: st.DrawFn, most_nodes: int = 4, most_jobs: int = 4) -> Document:
    """A problem document."""
    levels = draw(st.sampled_from([[], ["rack"], ["zone", "rack"]]))
    shapes = {f"s{index}": draw(_shape()) for index in range(draw(st.integers(1, 2)))}
    nodes = [
        draw(_node(f"n{index}", shapes, levels))
        for index in range(draw(st.integers(2, most_nodes)))
    ]
    running = [
        draw(_running(index, nodes, shapes))
        for index in range(draw(st.integers(0, most_nodes // 2)))
    ]
    running = draw(_with_devices(running, nodes, shapes))
    jobs = [draw(_job(index, levels)) for index in range(draw(st.integers(2, most_jobs)))]
    for job in jobs:
        for group in job["tasks"]:
            near = _maybe(draw, 10, st.sampled_from(_all_domains(nodes, levels)))
            if near is not None:
                weight = draw(st.sampled_from([0.5, 1, 2]))
                group["near"] = [{"level": near[0], "domains": [near[1]], "weight": weight}]
    policy: Document = {"value": draw(st.sampled_from(["share", "share", "gpus"]))}
    if draw(st.booleans()):
        policy["fragmentation"] = {"target": draw(st.lists(_target(levels), max_size=3))}
    return {
        "now": NOW,
        "cluster": {"levels": levels, "shapes": shapes, "nodes": nodes, "running": running},
        "jobs": jobs,
        "policy": policy,
    }


def _all_domains(nodes: list[Document], levels: list[str]) -> list[tuple[str, str]]:
    """(level, path) of every domain that has a node, nodes included."""
    found = {("node", node["name"]) for node in nodes}
    for path in (node["domain"].split("/") for node in nodes if "domain" in node):
        found.update((levels[depth], "/".join(path[: depth + 1])) for depth in range(len(path)))
    return sorted(found)


SHARES = (0.1, 0.2, 0.25, 0.3, 0.33, 0.34, 0.4, 0.45, 0.5, 0.51, 0.6, 0.7)


@st.composite
def _gpu_use(draw: st.DrawFn, memory: int | None) -> Document:
    match draw(st.sampled_from(["share", "share", "bytes", "whole"])):
        case "bytes" if memory is not None:
            return {"gpu_memory": draw(st.integers(1, 12)) * GIB}
        case "whole":
            return {"gpus": 1}
    return {"gpus": draw(st.sampled_from(SHARES))}


@st.composite
def share_documents(draw: st.DrawFn) -> Document:
    """A problem document of little else than shares of GPUs: up to three nodes of one shape."""
    memory = draw(st.sampled_from([None, 16 * GIB, 24 * GIB]))
    gpus = _without_none({"model": "A", "memory": memory, "count": draw(st.integers(1, 4))})
    nodes = [{"name": f"n{index}", "shape": "s"} for index in range(draw(st.integers(1, 3)))]
    running = [
        {"node": draw(st.sampled_from(nodes))["name"], "cpu": 1} | draw(_gpu_use(memory))
        for _ in range(draw(st.integers(0, 4)))
    ]
    jobs = []
    for number in range(draw(st.integers(2, 4))):
        count = draw(st.integers(1, 4))
        task = {"name": "w", "cpu": 1} | draw(_gpu_use(memory))
        task["count"] = count if draw(st.booleans()) else {"min": 1, "max": count}
        job = {"name": f"job{number}", "tasks": [task]}
        job["submitted"] = draw(st.sampled_from(["-1h", "-3h"]))
        if draw(st.booleans()):
            job["topology"] = "unconstrained"
        jobs.append(job)
    return {
        "now": NOW,
        "cluster": {
            "shapes": {"s": {"cpu": draw(st.sampled_from([6, 50])), "gpus": gpus}},
            "nodes": nodes,
            "running": [{"job": "r", "tasks": running}] if running else [],
        },
        "jobs": jobs,
        "policy": {"fragmentation": {"target": [{"gpus": 1}, {"gpus": 2, "weight": 3}]}},
    }
