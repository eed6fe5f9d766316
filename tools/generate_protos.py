#!/usr/bin/env python3
"""Generate placement/v1 from protos/, or (--check) tell whether it is stale.

Run by ``make protos`` and ``make protos-check`` in an environment of its own (.venv-protos).
"""

import argparse
import pathlib
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
PACKAGE = pathlib.PurePath("placement", "v1")
INIT = '"""Generated from protos/placement/v1 by `make protos`; do not edit."""\n'


def generate(into):
    """Write the package below a directory; return what is in each of its files."""
    sources = sorted(PROTOS.joinpath(PACKAGE).glob("*.proto"))
    if not sources:
        sys.exit(f"error: no .proto file in {PROTOS / PACKAGE}")
    binaries = pathlib.Path(sys.executable).parent
    status = protoc.main(
        [
            "protoc",
            f"--proto_path={PROTOS}",
            f"--proto_path={pathlib.Path(grpc_tools.__file__).parent / '_proto'}",
            f"--plugin=protoc-gen-mypy={binaries / 'protoc-gen-mypy'}",
            f"--plugin=protoc-gen-mypy_grpc={binaries / 'protoc-gen-mypy_grpc'}",
            f"--python_out={into}",
            f"--mypy_out=quiet:{into}",
            f"--grpc_python_out={into}",
            f"--mypy_grpc_out=quiet:{into}",
            *(str(source) for source in sources),
        ]
    )
    if status != 0:
        sys.exit(f"error: protoc failed ({status})")
    package = pathlib.Path(into, PACKAGE)
    package.joinpath("__init__.py").write_text(INIT)
    contents = {path.name: path.read_bytes() for path in sorted(package.iterdir())}
    # A file of messages alone gets no service: its two service modules say nothing.
    idle = {
        f"{source.stem}_pb2_grpc{suffix}"
        for source in sources
        if not any(line.startswith("service ") for line in source.read_text().splitlines())
        for suffix in (".py", ".pyi")
    }
    return {name: content for name, content in contents.items() if name not in idle}


def main():
    """Generate, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when stale")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wanted = generate(directory)
    package = ROOT / PACKAGE
    package.mkdir(parents=True, exist_ok=True)
    generated = [*package.glob("*_pb2*.py*"), *package.glob("__init__.py")]
    present = {path.name: path.read_bytes() for path in generated}
    stale = sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )
    if arguments.check and stale:
        sys.exit(f"error: {PACKAGE} is stale: {', '.join(stale)}. Run: make protos")
    for name in () if arguments.check else stale:
        if name in wanted:
            package.joinpath(name).write_bytes(wanted[name])
            print(f"wrote {PACKAGE / name}")
        else:
            package.joinpath(name).unlink()
            print(f"removed {PACKAGE / name}")


if __name__ == "__main__":
    main()
