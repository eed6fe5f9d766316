"""The base of every domain model: immutable, closed to unknown keys."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class FrozenModel(BaseModel):
    """An immutable record; fields carry units, aliases are the names in files.

    An unknown key is an error: nothing a user wrote is silently ignored.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        str_strip_whitespace=False,
        strict=False,
        ser_json_inf_nan="strings",
    )


Entry = TypeVar("Entry")


def _not_empty(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    if not entries:
        raise ValueError("the list is empty")
    return entries


# Not ``min_length``: that counts valid entries only, and calls a list of faulty ones empty.
NotEmpty = Annotated[
    tuple[Entry, ...], AfterValidator(_not_empty), Field(json_schema_extra={"minItems": 1})
]
"""A list with at least one entry."""
