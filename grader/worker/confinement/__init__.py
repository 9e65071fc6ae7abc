"""What confines a worker before the first line of a submission runs."""
