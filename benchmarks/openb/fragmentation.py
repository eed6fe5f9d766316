"""The study's measure of fragmentation: free GPU that the usual pods could not use.

Floats are added in the study's order throughout. The policy truncates its scores to integers, so
that the last bit of a sum decides between a score of 49 and one of 50, and with it the node.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.openb.pods import BoolArray
from benchmarks.openb.trace import IntArray, Trace

FloatArray = npt.NDArray[np.float64]

POPULAR_PERCENT = 95
"""The usual pods are the most frequent classes that make up this share of all pods."""

BUCKETS = ("lacks cpu and gpu", "lacks gpu", "lacks cpu", "no gpu, cpu fits", "no gpu", "no access")
"""Why free GPU is of no use, in the order in which the study adds the amounts up."""

_LACKS_BOTH, _LACKS_GPU, _LACKS_CPU, _CPU_POD_FITS, _CPU_POD_WAITS, _NO_ACCESS = range(6)


@dataclass(frozen=True, slots=True, eq=False)
class UsualPods:
    """Classes of pods by which free GPU is judged, most frequent first.

    ``U`` classes, ``M`` models of GPU.

    Attributes
    ----------
    cpu, count, milli
        ``[U]`` millicores, GPUs, thousandths of each.
    allowed
        ``[U, M]`` whether the class may run on the model.
    share
        ``[U]`` share of the pods; adds up to 1.
    """

    cpu: IntArray
    count: IntArray
    milli: IntArray
    allowed: BoolArray
    share: FloatArray

    def waste(self, cpu: IntArray, gpus: IntArray, model: int) -> FloatArray:
        """Free thousandths of a GPU of no use, by reason, expected over the classes.

        Parameters
        ----------
        cpu
            ``[S]`` free millicores of a node in each of S states.
        gpus
            ``[S, D]`` free thousandths of its GPUs.
        model
            Index of the model of its GPUs.

        Returns
        -------
        FloatArray
            ``[S, 6]``, in the order of `BUCKETS`.
        """
        states = len(cpu)
        free = gpus.sum(axis=1)[:, np.newaxis]
        large_enough = gpus[:, np.newaxis, :] >= self.milli[:, np.newaxis]
        too_small = np.where(large_enough, 0, gpus[:, np.newaxis, :]).sum(axis=2)
        gpu_fits = np.count_nonzero(large_enough, axis=2) >= self.count
        cpu_fits = cpu[:, np.newaxis] >= self.cpu
        access = self.allowed[:, model]
        bucket = np.where(
            gpu_fits,
            np.where(cpu_fits, _LACKS_GPU, _LACKS_CPU),
            np.where(cpu_fits, _LACKS_GPU, _LACKS_BOTH),
        )
        bucket = np.where(access, bucket, _NO_ACCESS)
        without_gpu = self.count == 0
        bucket = np.where(without_gpu, np.where(cpu_fits, _CPU_POD_FITS, _CPU_POD_WAITS), bucket)
        hosted = gpu_fits & cpu_fits & access & ~without_gpu
        amount = self.share * np.where(hosted, too_small, free)
        # bincount adds its weights one by one, which keeps the order of the classes.
        slots = np.arange(states)[:, np.newaxis] * len(BUCKETS) + bucket
        sums = np.bincount(slots.ravel(), weights=amount.ravel(), minlength=states * len(BUCKETS))
        waste: FloatArray = sums.astype(np.float64).reshape(states, len(BUCKETS))
        return waste

    def fragmentation(self, cpu: IntArray, gpus: IntArray, model: int) -> FloatArray:
        """``[S]``: `waste` over all reasons; parameters as there."""
        waste = self.waste(cpu, gpus, model)
        total: FloatArray = waste[:, 0].copy()
        for reason in range(1, len(BUCKETS)):
            total += waste[:, reason]
        return total


def usual_pods(trace: Trace, model_names: tuple[str, ...]) -> UsualPods:
    """Find the classes that make up `POPULAR_PERCENT` of the pods of a trace.

    Memory makes no difference between classes. Of equally frequent classes the one with more CPU
    comes first, then the larger share, then more GPUs, then the later list of models.

    Parameters
    ----------
    trace
        Pods; each counts once, however often it arrives.
    model_names
        The axis of models.
    """
    counts = Counter(
        (pod.cpu_millicores, pod.gpu_milli, pod.gpu_count, "|".join(pod.models))
        for pod in trace.pods
    )
    ordered = sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)
    total = float(len(trace.pods))
    wanted = POPULAR_PERCENT * total / 100.0
    covered, used = 0.0, 0
    while covered < wanted:
        covered += ordered[used][1]
        used += 1
    share = np.array([count / total for _, count in ordered[:used]])
    if used < len(ordered):
        share = share / (covered / total)
    chosen = [request for request, _ in ordered[:used]]
    lists = [spec.split("|") if spec else [] for *_, spec in chosen]
    return UsualPods(
        cpu=np.array([request[0] for request in chosen], dtype=np.int64),
        milli=np.array([request[1] for request in chosen], dtype=np.int64),
        count=np.array([request[2] for request in chosen], dtype=np.int64),
        allowed=np.array(
            [[not listed or name in listed for name in model_names] for listed in lists],
            dtype=bool,
        ).reshape(len(chosen), len(model_names)),
        share=share,
    )
