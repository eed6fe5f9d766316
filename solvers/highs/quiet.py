"""Keeps what HiGHS prints out of standard output, which belongs to the answer."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silenced_stdout() -> Iterator[None]:
    """Send everything written to file descriptor 1 to nowhere, for the whole process.

    HiGHS 1.12 prints a debug line whatever its log options say (ERGO-Code/HiGHS#2783), from C++,
    so only the descriptor itself can be turned away.
    """
    try:
        saved = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        # The line may still sit in the buffer of C, and would come out after the switch back.
        ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
