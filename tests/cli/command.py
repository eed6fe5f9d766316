"""Running the command as users do: another process, its output and its exit status."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command: no colours, no settings of whoever runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "FORCE_COLOR", "PLACEMENT_DEBUG", "TTY_COMPATIBLE")
    }
    return kept | changes


def run(
    *arguments: str | Path, stdin: str | bytes = b"", cwd: Path = ROOT, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run ``placement ARGUMENTS`` in the repository and wait for its end."""
    done = subprocess.run(
        [sys.executable, "-m", "placement", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(**changes),
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )
