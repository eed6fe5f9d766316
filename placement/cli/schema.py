"""``placement schema``: the JSON Schema of problem files."""

import json

import typer

EPILOG = """\b
Examples:
  placement schema > problem.schema.json
  # first line of a problem file, for editors with a YAML language server:
  # yaml-language-server: $schema=problem.schema.json
"""


def schema() -> None:
    """Print the JSON Schema of problem files."""
    from placement.schema import problem_schema

    typer.echo(json.dumps(problem_schema(), indent=2))
