"""Entry point: looks the benchmark up and imports only its module."""

import importlib
import sys
from collections.abc import Sequence

from benchmarks import BENCHMARKS


def main(argv: Sequence[str]) -> int:
    """Run the benchmark named by the first argument with the others.

    Parameters
    ----------
    argv
        Arguments without the program name.

    Returns
    -------
    int
        Exit status: that of the benchmark; 2 if there is no such benchmark.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [argument ...]\n")
        for name, (_, summary) in BENCHMARKS.items():
            print(f"  {name:<10} {summary}")
        return 0 if argv else 2
    name, *rest = argv
    if name not in BENCHMARKS:
        print(f"no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    module_name, _ = BENCHMARKS[name]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        print(f"benchmark {name!r}: there is no module {module_name}", file=sys.stderr)
        return 2
    return int(module.main(rest))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
