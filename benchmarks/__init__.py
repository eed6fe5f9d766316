"""Benchmarks; ``python -m benchmarks NAME`` runs one, without a name it lists them."""

from collections.abc import Mapping
from types import MappingProxyType

BENCHMARKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "openb": (
            "benchmarks.openb.cli",
            "Alibaba's GPU cluster trace replayed under published scheduling policies",
        ),
        "scale": ("benchmarks.scale", "time and size of generated problems"),
    }
)
"""Name to (module with ``main(argv) -> int``, what it measures)."""
