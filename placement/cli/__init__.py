"""The command ``placement``: what people type, and its exit status.

Modules of the commands import what is heavy (numpy, OR-tools, gRPC) only when they run, so that
``placement --help`` and shell completion are quick.
"""

from placement.cli.run import main

__all__ = ["main"]
