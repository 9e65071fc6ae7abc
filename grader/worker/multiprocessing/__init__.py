"""Pools, executors and processes without a fork: what they are to do is done in this process."""
