"""A small right document, to be made wrong in one place or another."""

from typing import Any

import pytest
import yaml

from placement.faults import InvalidProblemError
from placement.resolve import problem_from_document

BASE = """
now: "2026-11-30T12:00:00Z"
cluster:
  levels: [zone, rack]
  shapes:
    hgx:
      cpu: 192
      memory: 2Ti
      gpus: {model: H100, memory: 80Gi, count: 8}
      resources: {fpga: 2}
    plain: {cpu: 64, memory: 256Gi}
  nodes:
    - {name: "n[01-04]", shape: hgx, domain: z1/r1}
    - {name: c1, shape: plain, domain: z1/r2}
    - {name: c2, shape: plain}
jobs:
  - {name: train, gpus: 8}
"""
NOW = 1_796_040_000


def document(**sections: str) -> dict[str, Any]:
    """The base document with sections replaced; those of the cluster by their own names."""
    data: dict[str, Any] = yaml.safe_load(BASE)
    for name, text in sections.items():
        value = yaml.safe_load(text)
        if name in ("now", "jobs", "policy", "cluster"):
            data[name] = value
        else:
            data["cluster"][name] = value
    return data


def faults(data: Any) -> dict[str, str]:
    """Message by path."""
    with pytest.raises(InvalidProblemError) as error:
        problem_from_document(data)
    found = error.value.faults
    assert len({(fault.path, fault.message) for fault in found}) == len(found)
    return {fault.path: fault.message for fault in found}
