"""The pods of a trace as arrays, pods that no rule can tell apart gathered into kinds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.openb.trace import GPU_MILLI, IntArray, Trace

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PodKinds:
    """Kinds of pods, and of which kind each pod is.

    ``K`` kinds, ``M`` models of GPU among the nodes, ``P`` pods.

    Attributes
    ----------
    cpu, memory, count, milli
        ``[K]``, millicores, MiB, GPUs, thousandths of each GPU.
    total_milli
        ``[K]`` thousandths of a GPU over all GPUs of a pod.
    models
        Per kind: the models as the trace lists them.
    allowed
        ``[K, M]`` whether the kind may run on the model.
    tag
        ``[K]`` one bit per way of using GPUs (a share; one whole GPU; two; ...), 0 without GPUs.
    of_pod
        ``[P]`` kind of each of the trace's pods.
    model_names
        The models, in the order of the axis ``M``.
    """

    cpu: IntArray
    memory: IntArray
    count: IntArray
    milli: IntArray
    total_milli: IntArray
    models: tuple[tuple[str, ...], ...]
    allowed: BoolArray
    tag: IntArray
    of_pod: IntArray
    model_names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of kinds."""
        return len(self.models)


def pod_kinds(trace: Trace) -> PodKinds:
    """Gather the pods of a trace into kinds: equal in all they ask for.

    Parameters
    ----------
    trace
        The trace.
    """
    model_names = tuple(sorted({node.model for node in trace.nodes}))
    requests = [
        (pod.cpu_millicores, pod.memory_mib, pod.gpu_count, pod.gpu_milli, pod.models)
        for pod in trace.pods
    ]
    kinds = sorted(set(requests))
    index = {kind: position for position, kind in enumerate(kinds)}
    numbers = np.array([kind[:4] for kind in kinds], dtype=np.int64).reshape(len(kinds), 4)
    cpu, memory, count, milli = np.ascontiguousarray(numbers.T)
    models = tuple(kind[4] for kind in kinds)
    allowed = np.array(
        [[not listed or name in listed for name in model_names] for listed in models], dtype=bool
    ).reshape(len(kinds), len(model_names))
    uses = sorted({_use(kind[2], kind[3]) for kind in kinds if kind[2]})
    tag = np.array(
        [1 << uses.index(_use(kind[2], kind[3])) if kind[2] else 0 for kind in kinds],
        dtype=np.int64,
    )
    return PodKinds(
        cpu=cpu,
        memory=memory,
        count=count,
        milli=milli,
        total_milli=count * milli,
        models=models,
        allowed=allowed,
        tag=tag,
        of_pod=np.array([index[request] for request in requests], dtype=np.int64),
        model_names=model_names,
    )


def _use(count: int, milli: int) -> int:
    """0 for a share of a GPU, otherwise how many whole GPUs."""
    return count if milli == GPU_MILLI else 0
