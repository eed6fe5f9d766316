"""What makes a text unreadable, before anything is known of its meaning."""

from dataclasses import dataclass

from placement.faults import Location


@dataclass(frozen=True, slots=True)
class TextFault:
    """Something wrong with a text itself; lines count from 1."""

    message: str
    line: int | None
    location: Location = ()


class TextError(Exception):
    """The text cannot be read."""

    def __init__(self, *faults: TextFault) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.message for fault in faults))
