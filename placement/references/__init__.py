"""References between the parts of a document: every name exists, once; nothing contradicts."""

from collections.abc import Iterator

from placement.references.cluster import domain_findings, level_findings, node_findings
from placement.references.jobs import job_findings, policy_findings
from placement.references.queues import queue_findings
from placement.references.running import reservation_findings, running_findings
from placement.references.subject import Names, Subject
from placement.references.totals import total_findings
from placement.schema_faults import Finding

__all__ = ["Names", "Subject", "reference_findings"]


def reference_findings(subject: Subject) -> Iterator[Finding]:
    """Find everything that no part of the document shows by itself."""
    yield from level_findings(subject)
    yield from node_findings(subject)
    yield from domain_findings(subject)
    yield from running_findings(subject)
    yield from queue_findings(subject)
    yield from reservation_findings(subject)
    yield from job_findings(subject)
    yield from policy_findings(subject)
    yield from total_findings(subject)
