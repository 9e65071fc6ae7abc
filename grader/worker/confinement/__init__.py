"""The layers that confine a worker before the first line of a submission runs."""
