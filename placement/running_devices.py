"""Which GPUs running tasks are taken to hold that do not say so themselves.

This is a definition, shared by everyone who asks what is free: any consistent choice would do,
but all must assume the same one.
"""

from collections import defaultdict
from collections.abc import Sequence

from placement.cluster import Node, RunningJob, TaskUse
from placement.problem import Problem

SEARCH_STEPS = 10_000
"""Most steps of one packing search; beyond it nothing is claimed."""

MOST_SEARCHED = 200
"""Most shares of one node that are searched when best fit does not settle them."""


class PackingUndecidedError(ValueError):
    """The search for a packing of GPU shares was cut short."""


def named_devices(problem: Problem) -> tuple[RunningJob, ...]:
    """Return the running jobs with devices named for every task that holds GPUs.

    Tasks that name theirs keep them. Of the others on a node, those that hold whole GPUs get
    healthy ones from the highest index down, unhealthy ones only when no healthy one is left;
    then the shares are packed so that they open few further healthy GPUs (:func:`fewest_opened`;
    or any, if the healthy ones do not suffice). Where no consistent choice exists (or none is
    found within ``SEARCH_STEPS``), the tasks of that node stay without devices: the node is over
    its capacity.
    """
    unnamed: dict[str, list[tuple[int, int]]] = defaultdict(list)
    on_node: dict[str, list[TaskUse]] = defaultdict(list)
    running = problem.cluster.running
    for job_index, job in enumerate(running):
        for task_index, task in enumerate(job.tasks):
            if holds_gpus(task):
                on_node[task.node].append(task)
                if task.devices is None:
                    unnamed[task.node].append((job_index, task_index))
    if not unnamed:
        return running
    chosen: dict[tuple[int, int], tuple[int, ...]] = {}
    for node in problem.nodes:
        where = unnamed.get(node.name)
        if where:
            tasks = [running[job].tasks[task] for job, task in where]
            found = _choose(node, on_node[node.name], tasks)
            if found is not None:
                chosen.update(zip(where, found, strict=True))
    return tuple(
        _with_devices(job, {t: d for t in range(len(job.tasks)) if (d := chosen.get((j, t)))})
        for j, job in enumerate(running)
    )


def _with_devices(job: RunningJob, devices: dict[int, tuple[int, ...]]) -> RunningJob:
    if not devices:
        return job
    tasks = tuple(
        task.model_copy(update={"devices": devices[index]}) if index in devices else task
        for index, task in enumerate(job.tasks)
    )
    return job.model_copy(update={"tasks": tasks})


def holds_gpus(task: TaskUse) -> bool:
    """Whether the task holds whole GPUs or a share of one."""
    return task.gpus_milli > 0 or task.gpu_memory_bytes > 0


def holds_share(task: TaskUse) -> bool:
    """Whether the task holds part of one GPU."""
    return task.gpu_memory_bytes > 0 or task.gpus_milli % 1000 != 0


def gpu_units(memory_bytes: int | None) -> int:
    """Units of one GPU: 1000 x its memory in bytes, or 1000 if it states none."""
    return 1000 * memory_bytes if memory_bytes else 1000


def share_units(milli: int, share_bytes: int, memory_bytes: int | None) -> int | None:
    """Units that a share takes of a GPU; None: a share by memory of a GPU that states none."""
    if memory_bytes:
        return 1000 * share_bytes if share_bytes else milli * memory_bytes
    return None if share_bytes else milli


def _choose(
    node: Node, tasks: Sequence[TaskUse], unnamed: Sequence[TaskUse]
) -> list[tuple[int, ...]] | None:
    """Devices of each unnamed task, given all GPU tasks of the node; None: not consistent."""
    spec = node.shape.gpus
    if spec is None:
        return None
    capacity = gpu_units(spec.memory_bytes)
    whole: set[int] = set()
    left: dict[int, int] = {}
    for task in tasks:
        if task.devices is None:
            continue
        if holds_share(task):
            units = share_units(task.gpus_milli, task.gpu_memory_bytes, spec.memory_bytes)
            index = task.devices[0]
            left[index] = left.get(index, capacity) - (capacity + 1 if units is None else units)
        elif whole.intersection(task.devices):
            return None
        else:
            whole.update(task.devices)
    if whole & left.keys() or min(left.values(), default=0) < 0:
        return None
    healthy = frozenset(node.healthy_gpus)
    idle = [gpu for gpu in reversed(range(spec.count)) if gpu not in whole and gpu not in left]
    idle.sort(key=lambda gpu: gpu not in healthy)
    result: dict[int, tuple[int, ...]] = {}
    shares: list[tuple[int, int]] = []
    for position, task in enumerate(unnamed):
        if holds_share(task):
            units = share_units(task.gpus_milli, task.gpu_memory_bytes, spec.memory_bytes)
            if units is None:
                return None
            shares.append((units, position))
        else:
            count = task.gpus_milli // 1000
            if count > len(idle):
                return None
            result[position] = tuple(sorted(idle[:count]))
            del idle[:count]
    shares.sort(key=lambda share: (-share[0], share[1]))
    items = [units for units, _ in shares]
    for allowed in (healthy, frozenset(range(spec.count))):
        opened = [gpu for gpu in sorted(left) if gpu in allowed]
        further = [gpu for gpu in idle if gpu in allowed]
        try:
            packed = fewest_opened([left[gpu] for gpu in opened], len(further), capacity, items)
        except PackingUndecidedError:
            return None
        if packed is not None:
            for (_, position), index in zip(shares, packed, strict=True):
                result[position] = ((opened + further)[index],)
            return [result[position] for position in range(len(unnamed))]
    return None


def fewest_opened(
    shared_left: Sequence[int], idle: int, capacity: int, items: Sequence[int]
) -> list[int] | None:
    """Pack shares so that few idle GPUs are opened: the fewest, if a bounded search tells.

    Parameters
    ----------
    shared_left
        Units left on GPUs that are shared already.
    idle
        Most idle GPUs that may be opened, each of ``capacity`` units.
    items
        Units of each share, descending.

    Returns
    -------
    list of int or None
        Per share its GPU: those shared already come first, then the opened ones. None if the
        shares do not fit.

    Raises
    ------
    PackingUndecidedError
        Whether they fit is undecided after ``SEARCH_STEPS`` steps.
    """
    if not items:
        return []
    if items[0] > max(capacity, *shared_left, 0):
        return None
    least = _least_opened(shared_left, capacity, items)
    simple, simply = None, idle + 1
    for opened in range(least, idle + 1):
        simple = _best_fit([*shared_left, *[capacity] * opened], items)
        if simple is not None:
            simply = opened
            break
    if simply == least or least > idle:
        return simple
    try:
        search = _Packing(items)
        for opened in range(least, simply):
            if search.place([*shared_left, *[capacity] * opened], 0):
                return search.bins
    except PackingUndecidedError:
        if simple is None:
            raise
    return simple


def _least_opened(shared_left: Sequence[int], capacity: int, items: Sequence[int]) -> int:
    """Lower bound: by sum, and of those shares of which at most k fit on one GPU."""
    least = max(0, -(-(sum(items) - sum(shared_left)) // capacity))
    for position, item in enumerate(items):
        per_gpu = capacity // item
        elsewhere = sum(left // item for left in shared_left)
        if per_gpu:
            least = max(least, -(-(position + 1 - elsewhere) // per_gpu))
    return least


def _best_fit(shared_left: Sequence[int], items: Sequence[int]) -> list[int] | None:
    """Each share on the fullest GPU that takes it; None if one finds none."""
    left = list(shared_left)
    bins = []
    for item in items:
        units, index = min(((u, i) for i, u in enumerate(left) if u >= item), default=(0, -1))
        if index < 0:
            return None
        left[index] = units - item
        bins.append(index)
    return bins


class _Packing:
    """Depth-first search over the GPU of each share, remembering states that failed."""

    def __init__(self, items: Sequence[int]) -> None:
        if len(items) > MOST_SEARCHED:
            raise PackingUndecidedError(f"packing of {len(items)} GPU shares is undecided")
        self._items = items
        self._rest = [sum(items[position:]) for position in range(len(items) + 1)]
        self._steps = 0
        self._failed: set[tuple[int, tuple[int, ...]]] = set()
        self.bins = [0] * len(items)

    def place(self, left: list[int], position: int) -> bool:
        """Place the shares from ``position`` on; on success ``bins`` says where all are."""
        if position == len(self._items):
            return True
        item = self._items[position]
        if sum(units for units in left if units >= self._items[-1]) < self._rest[position]:
            return False
        state = (position, tuple(sorted(left)))
        if state in self._failed:
            return False
        tried: set[int] = set()
        for units, index in sorted((u, i) for i, u in enumerate(left) if u >= item):
            if units in tried:
                continue
            tried.add(units)
            self._steps += 1
            if self._steps > SEARCH_STEPS:
                raise PackingUndecidedError("packing of GPU shares is undecided")
            left[index] = units - item
            self.bins[position] = index
            if self.place(left, position + 1):
                return True
            left[index] = units
        self._failed.add(state)
        return False
