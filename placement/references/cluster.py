"""Levels, nodes and domains: names are unique and exist, indices are in range."""

from collections.abc import Iterator

from placement.cluster import NODE_LEVEL, Shape, no_such_gpu
from placement.quantities import shown
from placement.references.subject import Subject, repeated, unknown
from placement.schema_faults import Finding, did_you_mean


def level_findings(subject: Subject) -> Iterator[Finding]:
    """Find levels listed twice, and ``node``."""
    levels = subject.document.cluster.levels
    for position, level in repeated(levels):
        yield ("cluster", "levels", position), f"level {shown(level)} is listed twice"
    for position, level in enumerate(levels):
        if level == NODE_LEVEL:
            yield (
                ("cluster", "levels", position),
                "node is always the last level and is not listed",
            )


def path_fault(path: str, level_count: int) -> str | None:
    """Say what is wrong with a domain path; None if nothing."""
    parts = path.split("/")
    if any(not part or part != part.strip() for part in parts):
        return f"{shown(path)} is not a path; write it coarse to fine, as z1/b1/r1"
    if len(parts) > level_count:
        noun = "level" if level_count == 1 else "levels"
        return f"{shown(path)} is {len(parts)} deep for {level_count} {noun} (node not counted)"
    return None


def node_findings(subject: Subject) -> Iterator[Finding]:
    """Find nodes named twice, of no known shape, too deep, or with GPUs they do not have."""
    cluster = subject.document.cluster
    seen: dict[str, int] = {}
    for node, entry in zip(subject.nodes, subject.node_entry, strict=True):
        first = seen.setdefault(node.name, entry)
        if first != entry:
            where = subject.at("nodes", first)[-1]
            message = f"node {shown(node.name)} is listed twice, first in cluster.nodes[{where}]"
            yield subject.at("nodes", entry, "name"), message
    for position, written in enumerate(cluster.nodes):
        yield from unknown(
            "shape", subject.shapes, written.shape, subject.at("nodes", position, "shape")
        )
        if written.domain is not None and not subject.levels.open:
            fault = path_fault(written.domain, len(cluster.levels))
            if fault is not None:
                yield subject.at("nodes", position, "domain"), fault
        shape = cluster.shapes.get(written.shape)
        for index, gpu in enumerate(written.unhealthy_gpus):
            place = subject.at("nodes", position, "unhealthy_gpus", index)
            if shape is not None and gpu >= gpu_count(shape):
                yield place, no_such_gpu(gpu, gpu_count(shape))
            elif gpu in written.unhealthy_gpus[:index]:
                yield place, f"GPU {gpu} is named twice"


def gpu_count(shape: Shape) -> int:
    """GPUs of a node of this shape."""
    return 0 if shape.gpus is None else shape.gpus.count


def _paths(subject: Subject) -> list[dict[str, None]]:
    """Domain paths that nodes are in, per level; the nodes themselves last."""
    paths: list[dict[str, None]] = [{} for _ in subject.document.cluster.levels]
    for node in subject.nodes:
        for level, path in enumerate(node.domains):
            if path is not None:
                paths[level][path] = None
    return [*paths, dict.fromkeys(node.name for node in subject.nodes)]


def domain_findings(subject: Subject) -> Iterator[Finding]:
    """Find domains, and wishes to be near one, in which no node is."""
    cluster = subject.document.cluster
    if subject.levels.open:
        return
    paths = _paths(subject)
    known = dict.fromkeys(path for level in paths[:-1] for path in level)
    for position, domain in enumerate(cluster.domains):
        fault = path_fault(domain.path, len(cluster.levels))
        if fault is None and domain.path not in known and subject.domains_known:
            fault = f"no node is in domain {shown(domain.path)}{did_you_mean(domain.path, known)}"
        if fault is not None:
            yield subject.at("domains", position, "path"), fault
    for position, path in repeated(domain.path for domain in cluster.domains):
        yield subject.at("domains", position, "path"), f"domain {shown(path)} is listed twice"
    if subject.domains_known:
        yield from _near_findings(subject, paths)


def _near_findings(subject: Subject, paths: list[dict[str, None]]) -> Iterator[Finding]:
    order = [*subject.document.cluster.levels, NODE_LEVEL]
    for j, job in enumerate(subject.document.jobs):
        for g, group in enumerate(job.tasks):
            for n, near in enumerate(group.near):
                if near.level not in order:
                    continue
                at_level = paths[order.index(near.level)]
                for d, path in enumerate(near.domains):
                    if path in at_level:
                        continue
                    like = [known for known in at_level if known.endswith(f"/{path}")]
                    yield (
                        subject.at_task(j, g, "near", n, "domains", d),
                        f"no node is in domain {shown(path)} of level {near.level}"
                        + did_you_mean(like[0] if like else path, at_level),
                    )
