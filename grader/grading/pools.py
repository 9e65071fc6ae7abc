"""Which pool of judges is meant: this machine's, or that of a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from grader.core.processors import processors
from grader.core.settings import Settings
from grader.grading.coordinator import Coordinator
from grader.grading.isolation import require_isolation as require_every_layer
from grader.grading.pool import JobPool, Pools

Say = Callable[[str], None]


@contextlib.contextmanager
def chosen_pools(
    scheduler: str | None,
    jobs: int | None,
    say: Say,
    require_isolation: bool = False,
    waits: Say | None = None,
) -> Iterator[Pools]:
    """Pools of `jobs` judges here, or on the cluster whose `scheduler` has that address.

    By default there are as many judges as processors here, or as threads there. `say` is told in
    sentences what becomes of the cluster's machines, `waits` what is waited for here. If isolation
    is required, it is so of the machines that grade.

    Raises:
        NotIsolated: if isolation is required here and does not hold.
        NoCluster: if the scheduler does not answer, or the package for it is not installed.
    """
    if scheduler is None:
        if require_isolation:
            require_every_layer()
        yield lambda settings: Coordinator(settings, jobs or processors(), say=waits)
        return
    from grader.grading.cluster.connection import connected

    with connected(scheduler) as client:
        from grader.grading.cluster.pool import ClusterPool, Terms

        terms = Terms(jobs, require_isolation)

        def pool(settings: Settings) -> JobPool:
            return ClusterPool(client, scheduler, settings, terms, say)

        yield pool
