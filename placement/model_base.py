"""The base of every domain model: immutable, closed to unknown keys."""

from pydantic import BaseModel, ConfigDict


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
