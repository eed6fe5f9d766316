"""Problem documents for the tests of the service."""

from typing import Any

from hypothesis import strategies as st

COMPLETE: dict[str, Any] = {
    "now": "2026-11-30T12:00:00Z",
    "cluster": {
        "levels": ["zone", "block", "rack"],
        "domains": [{"path": "z1/b1/r1", "uplink": "6.4Tbps"}, {"path": "z1/b1/r2"}],
        "shapes": {
            "hgx": {
                "cpu": 192,
                "memory": "2Ti",
                "nvme": "28Ti",
                "network": "3.2Tbps",
                "slots": 110,
                "resources": {"fpga": 2, "nothing": 0},
                "gpus": {
                    "model": "H100",
                    "memory": "80Gi",
                    "count": 8,
                    "nvlink": [[0, 1, 2, 3], [4, 5, 6, 7]],
                    "numa": [0, 0, 0, 0, 1, 1, 1, 1],
                    "mig": True,
                },
                "numa": [{"cpu": 96, "memory": "1Ti"}, {"cpu": 96}],
                "nics": [{"numa": 0, "bandwidth": "400Gbps"}, {"bandwidth": "400Gbps"}],
                "labels": {"cuda": "12.4", "nvidia.com/gpu": "yes"},
                "taints": [{"key": "gpu"}],
                "maintenance": [{"from": "+100h", "until": "+101h"}],
            },
            "plain.1": {"cpu": "500m", "slots": 0},
        },
        "nodes": [
            {"name": "n[01-04]", "shape": "hgx", "domain": "z1/b1/r1"},
            {
                "name": "n17",
                "shape": "hgx",
                "domain": "z1/b1/r2",
                "state": "cordoned",
                "unhealthy_gpus": [3],
                "labels": {"disk": "fast"},
                "taints": [{"key": "team", "value": "a", "effect": "PreferNoSchedule"}],
                "maintenance": [{"from": "+6h", "until": "+8h"}],
            },
            {"name": "c1", "shape": "plain.1"},
        ],
        "running": [
            {
                "job": "serve-a",
                "queue": "research",
                "priority": -5,
                "preemptible": True,
                "movable": False,
                "started": "-3h",
                "ends": "+4h",
                "checkpoint": {"last": "-10m", "restart": "5m"},
                "min_runtime": "30m",
                "intensity": 0.25,
                "topology": {"required": "rack"},
                "slices": [{"size": 1, "level": "rack", "mode": "preferred"}],
                "count": {"min": 1, "max": 3},
                "tasks": [
                    {
                        "node": "n01",
                        "cpu": 16,
                        "memory": "128Gi",
                        "gpus": 2,
                        "devices": [0, 1],
                        "group": "w",
                        "rank": 0,
                    }
                ],
            },
            {
                "job": "slice",
                "started": "-1h",
                "duration": "3h",
                "topology": "unconstrained",
                "tasks": [{"node": "n02", "mig": "1g.10gb", "mig_start": 0, "devices": [0]}],
            },
            {"job": "share", "tasks": [{"node": "n03", "gpus": "0.5", "cpu": "1m"}]},
            {
                "job": "mixed",
                "tasks": [
                    {
                        "node": "n04",
                        "gpu_memory": "10Gi",
                        "nvme": "1Gi",
                        "network": "1Gbps",
                        "resources": {"fpga": 1},
                    }
                ],
            },
        ],
        "queues": [
            {
                "name": "research",
                "weight": 2.5,
                "guarantee": {"gpus": 32, "gpus/H100": 16, "cpu": "1500m", "fpga": 1},
                "limit": {
                    "gpus": 40,
                    "nvme": "1Ti",
                    "memory": "1Ti",
                    "network": "1Tbps",
                    "slots": 9,
                },
            },
            {"name": "below", "parent": "research"},
        ],
        "reservations": [{"job": "big", "start": "+2h", "tasks": [{"node": "n02", "gpus": 4}]}],
    },
    "jobs": [
        {
            "name": "llm",
            "queue": "research",
            "priority": 10,
            "submitted": "-2h",
            "duration": "36h",
            "preemptible": True,
            "movable": False,
            "intensity": 0,
            "topology": {"required": "block", "preferred": "rack"},
            "bind": [{"groups": ["leader", "worker"], "level": "rack"}],
            "with": [{"job": "other", "level": "block"}],
            "tasks": [
                {"name": "leader", "cpu": 1},
                {
                    "name": "worker",
                    "count": {"min": 0, "max": 4},
                    "cpu": "32500m",
                    "memory": 1,
                    "nvme": "1Ti",
                    "network": "400Gbps",
                    "gpus": 8,
                    "gpu": {"model": ["H100", "A100"], "memory": ">=80Gi", "same": "nvlink"},
                    "nic": "per-gpu",
                    "topology": {"preferred": "rack"},
                    "slices": [{"size": 2, "level": "rack"}],
                    "resources": {"fpga": 1},
                    "spread": {"level": "rack", "most": 4},
                    "selector": [
                        {"key": "cuda", "op": "Gt", "value": "12.1"},
                        {"key": "disk", "op": "DoesNotExist"},
                        {"key": "cuda", "values": ["12.4", "12.5"]},
                    ],
                    "prefer": [
                        {"key": "disk", "values": ["fast", "new"], "weight": 0.5},
                        {"key": "cuda", "op": "Lt", "value": "13"},
                    ],
                    "tolerations": [
                        {"key": "team", "op": "Exists", "effect": "PreferNoSchedule"},
                        {"key": "gpu", "value": "x"},
                    ],
                    "near": [{"level": "rack", "domains": ["z1/b1/r1"], "weight": 3}],
                },
            ],
        },
        {"name": "other", "gpu_memory": "10Gi", "topology": "unconstrained"},
        {"name": "part", "gpus": 0.25, "submitted": "1980-01-01T00:00:00Z"},
        {
            "name": "mig",
            "tasks": [{"mig": "1g.10gb", "count": 2, "spread": {"level": "rack", "skew": 1}}],
        },
    ],
    "policy": {
        "time_limit": "1500ms",
        "value": "gpus",
        "fairness": "strict",
        "borrow_nonpreemptible": False,
        "preemption": {
            "enabled": True,
            "reclaim": False,
            "most_evictions": 0,
            "budgets": [{"jobs": "serve-*", "most": 0}],
        },
        "migration": {"enabled": True, "most_moves": 3},
        "reservations": {
            "mode": "balanced",
            "entitled": {"gpus": ">=32"},
            "most": 4,
            "horizon": "7d",
            "exchange_rate": 1.5,
        },
        "fragmentation": {
            "target": [
                {"nodes": 4, "gpus": 8, "cpu": 16, "level": "rack", "same": "nvlink", "weight": 2},
                {"gpus": 1, "model": "H100", "memory": "1Gi"},
            ]
        },
    },
}
"""Uses every field of the format at least once."""


def small(jobs: list[dict[str, Any]], *, nodes: int = 4, time_limit: str = "10s") -> dict[str, Any]:
    """A few nodes of 8 GPUs in two racks."""
    half = nodes // 2
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "levels": ["rack"],
            "shapes": {"hgx": {"cpu": 64, "memory": "1Ti", "gpus": {"model": "H100", "count": 8}}},
            "nodes": [
                {"name": f"n[1-{half}]", "shape": "hgx", "domain": "r1"},
                {"name": f"n[{half + 1}-{nodes}]", "shape": "hgx", "domain": "r2"},
            ],
        },
        "jobs": jobs,
        "policy": {"time_limit": time_limit},
    }


FOUR_JOBS = small(
    [
        {"name": "gang", "tasks": [{"name": "w", "count": 2, "gpus": 8, "cpu": 4}]},
        {"name": "half", "gpus": 4, "priority": 5},
        {"name": "six", "gpus": 6},
        {"name": "huge", "tasks": [{"count": 5, "gpus": 8}]},
    ]
)
"""Three jobs that fit and one that cannot."""

_amounts = st.integers(0, 2**40)
_small = st.integers(0, 6)
_names = st.text("abcXYZ09-_.ü é/", min_size=1, max_size=8).map(str.strip).filter(bool)
_maybe = st.none


def _fields(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


_request = _fields(
    cpu=_amounts.map("{}m".format),
    memory=_amounts,
    nvme=_amounts,
    network=_amounts,
    resources=st.dictionaries(st.sampled_from(["fpga", "dpu.x"]), _small, max_size=2),
)
_gpus = st.sampled_from(
    [{}, {"gpus": 1}, {"gpus": 8}, {"gpus": 0.125}, {"gpu_memory": 2**31}, {"mig": "1g.10gb"}]
)
_topology = st.sampled_from(
    [{}, {"required": "rack"}, {"preferred": "zone"}, {"required": "zone", "preferred": "rack"}]
)
_count = st.one_of(
    st.integers(1, 9),
    st.tuples(_small, st.integers(6, 9)).map(lambda c: {"min": c[0], "max": c[1]}),
)
_extras = _fields(
    topology=_topology,
    slices=st.just([{"size": 1, "level": "rack"}]),
    spread=st.sampled_from([{"level": "rack", "most": 2}, {"level": "zone", "skew": 1}]),
    selector=st.just([{"key": "k", "op": "NotIn", "values": ["a", "b"]}]),
    prefer=st.lists(
        st.builds(
            lambda w: {"key": "k", "values": ["v"], "weight": w / 1000}, st.integers(0, 9999)
        ),
        max_size=2,
    ),
    tolerations=st.sampled_from([[{"op": "Exists"}], [{"key": "t", "value": "v"}]]),
)
_groups = st.lists(
    st.builds(
        lambda count, request, gpus, extras: {
            "count": count,
            **request,
            **gpus,
            **extras,
            "cpu": 1,
        },
        _count,
        _request,
        _gpus,
        _extras,
    ),
    min_size=1,
    max_size=3,
).map(lambda groups: [{"name": f"g{index}", **group} for index, group in enumerate(groups)])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Valid documents of all sorts; most of them make no sense."""
    names = draw(st.lists(_names, min_size=1, max_size=4, unique=True))
    fields = _fields(
        priority=st.integers(-(2**31), 2**31 - 1),
        duration=st.integers(1, 10**6),
        submitted=st.sampled_from(["-2h", "+3s", "1970-01-01T00:00:00Z"]),
        preemptible=st.booleans(),
        movable=st.booleans(),
        intensity=st.integers(0, 10**6).map(lambda milli: milli / 1000),
        topology=st.one_of(_topology, st.just("unconstrained")),
    )
    jobs = [{"name": name, **draw(fields), "tasks": draw(_groups)} for name in names]
    jobs = [
        job if any(_least(group) for group in job["tasks"]) else {**job, "tasks": [{"cpu": 1}]}
        for job in jobs
    ]
    shape = draw(
        _fields(
            cpu=_amounts.map("{}m".format),
            memory=_amounts,
            network=_amounts,
            slots=_small,
            labels=st.dictionaries(_names, _names, max_size=2),
            gpus=st.just({"model": "H100", "count": 8, "memory": "80Gi"}),
        )
    )
    policy = draw(
        _fields(
            time_limit=st.integers(1, 10**6).map(lambda millis: f"{millis}ms"),
            value=st.sampled_from(["share", "gpus"]),
            borrow_nonpreemptible=st.booleans(),
            preemption=_fields(enabled=st.booleans(), reclaim=st.booleans(), most_evictions=_small),
            fragmentation=st.sampled_from(
                [{"target": "auto"}, {"target": []}, {"target": [{"gpus": 8, "weight": 0.001}]}]
            ),
        )
    )
    state = draw(st.sampled_from(["ready", "cordoned", "draining", "down"]))
    return {
        "now": draw(st.integers(946_684_800, 4_000_000_000)),
        "cluster": {
            "levels": ["zone", "rack"],
            "shapes": {"s": shape},
            "nodes": [{"name": "n[1-3]", "shape": "s", "domain": "z/r", "state": state}],
        },
        "jobs": jobs,
        "policy": policy,
    }


def _least(group: dict[str, Any]) -> int:
    count = group["count"]
    return int(count["min"]) if isinstance(count, dict) else int(count)
