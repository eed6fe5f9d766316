"""Who holds which GPU of one node, and whether those who name none still find room."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from placement.running_devices import (
    PackingUndecidedError,
    fewest_opened,
    gpu_units,
    share_units,
)


class UnverifiableError(ValueError):
    """A packing of GPU shares was too hard to decide: never taken as right."""


@dataclass(slots=True)
class GpuHolders:
    """Holders of the GPUs of one node.

    A share of a GPU of m bytes takes ``share x m`` units and a share by memory ``1000 x bytes``
    of the GPU's ``1000 x m``; without stated memory a GPU has 1000 units.

    Attributes
    ----------
    count, healthy, memory_bytes
        As the node has them.
    whole
        GPU index: who holds it whole.
    shares
        GPU index: units taken by shares that name it.
    unnamed_whole, unnamed_shares
        GPUs held whole, and units of each share, by running tasks that name no device.
    faults
        (rule, what is wrong) of holders that contradict each other.
    """

    count: int
    healthy: frozenset[int]
    memory_bytes: int | None
    whole: dict[int, str] = field(default_factory=dict)
    shares: dict[int, int] = field(default_factory=dict)
    unnamed_whole: int = 0
    unnamed_shares: list[int] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)

    @property
    def capacity(self) -> int:
        """Units of one idle GPU."""
        return gpu_units(self.memory_bytes)

    @property
    def has_unnamed(self) -> bool:
        """Whether someone holds GPUs without saying which."""
        return self.unnamed_whole > 0 or bool(self.unnamed_shares)

    def copy(self) -> "GpuHolders":
        """Return a copy that can be added to."""
        return GpuHolders(
            self.count,
            self.healthy,
            self.memory_bytes,
            dict(self.whole),
            dict(self.shares),
            self.unnamed_whole,
            list(self.unnamed_shares),
            list(self.faults),
        )

    def take_whole(self, devices: Sequence[int], holder: str, *, new: bool) -> None:
        """Give these GPUs whole to the holder; a new one gets healthy GPUs only."""
        for index in devices:
            self._check_index(index, holder, new=new)
            if index in self.whole:
                self.faults.append(
                    ("gpu-held-once", f"GPU {index} is held by {self.whole[index]} and {holder}")
                )
            if index in self.shares:
                self.faults.append(
                    ("gpu-shared-or-whole", f"GPU {index} is shared, {holder} takes it whole")
                )
            self.whole[index] = holder

    def take_share(
        self, index: int, milli: int, share_bytes: int, holder: str, *, new: bool
    ) -> None:
        """Give the holder a share of this GPU."""
        self._check_index(index, holder, new=new)
        units = self._units(milli, share_bytes, holder)
        if index in self.whole:
            self.faults.append(
                (
                    "gpu-shared-or-whole",
                    f"GPU {index} is held whole by {self.whole[index]}, {holder} takes a share",
                )
            )
        before = self.shares.get(index, 0)
        self.shares[index] = before + units
        if before <= self.capacity < before + units:
            self.faults.append(("gpu-share-sum", f"GPU {index}: shares add up to more than 1.0"))

    def take_unnamed_share(self, milli: int, share_bytes: int, holder: str) -> None:
        """Give the holder a share of any GPU."""
        self.unnamed_shares.append(self._units(milli, share_bytes, holder))

    def _units(self, milli: int, share_bytes: int, holder: str) -> int:
        units = share_units(milli, share_bytes, self.memory_bytes)
        if units is None:
            self.faults.append(
                ("gpu-memory", f"{holder} takes a share by memory of a GPU without stated memory")
            )
            return 0
        return units

    def _check_index(self, index: int, holder: str, *, new: bool) -> None:
        if not 0 <= index < self.count:
            self.faults.append(("gpu-index", f"{holder}: no GPU {index} on the node"))
        elif new and index not in self.healthy:
            self.faults.append(("gpu-healthy", f"{holder}: GPU {index} is not healthy"))

    def settle(self) -> tuple[int, ...] | None:
        """Find room for those who name no device, with as many GPUs left idle as possible.

        Only healthy GPUs count as room.

        Returns
        -------
        tuple of int or None
            Units left on each healthy GPU, by index; an idle one has ``capacity``. None: no
            consistent room.

        Raises
        ------
        UnverifiableError
            The search was cut short.
        """
        left = {
            index: 0 if index in self.whole else self.capacity - self.shares.get(index, 0)
            for index in sorted(self.healthy)
        }
        if not self.has_unnamed:
            return tuple(left.values())
        idle = [index for index in left if index not in self.whole and index not in self.shares]
        room = len(idle) - self.unnamed_whole
        if room < 0:
            return None
        shared = [index for index in left if index in self.shares]
        items = sorted(self.unnamed_shares, reverse=True)
        try:
            packed = fewest_opened([left[i] for i in shared], room, self.capacity, items)
        except PackingUndecidedError as error:
            raise UnverifiableError(str(error)) from error
        if packed is None:
            return None
        bins = shared + idle
        for units, index in zip(items, packed, strict=True):
            left[bins[index]] -= units
        untouched = [index for index in idle if left[index] == self.capacity]
        for index in untouched[: self.unnamed_whole]:
            left[index] = 0
        return tuple(left.values())
