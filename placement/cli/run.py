"""From the first argument to the exit status: every failure ends in one line, not a traceback."""

import os
import sys
import traceback

from placement.cli.failures import ExitStatus, failure_status, report_failure

DEBUG_VARIABLE = "PLACEMENT_DEBUG"
"""Set to anything: the same as ``placement --debug``."""


def main() -> None:
    """Run the command and exit with its status (see :class:`ExitStatus`)."""
    status = _run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _silence_broken_pipe()
    sys.exit(status)


def _run() -> int:
    from placement.cli.app import app

    try:
        # Usage errors are printed by typer; it leaves by SystemExit in any case.
        app(prog_name="placement")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitStatus.OK
    except BrokenPipeError:
        return _silence_broken_pipe()
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except Exception as error:
        if _debugging():
            traceback.print_exc()
        report_failure(error)
        return failure_status(error)
    return ExitStatus.OK


def _debugging() -> bool:
    return sys.argv[1:2] == ["--debug"] or bool(os.environ.get(DEBUG_VARIABLE))


def _silence_broken_pipe() -> int:
    """Let nothing more be written: the reader has gone, which is its good right."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitStatus.FAILED
