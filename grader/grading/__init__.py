"""A batch of submissions: queue, pool of jobs, cluster, judge."""
