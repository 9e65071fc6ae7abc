"""CS336 assignment 1, attention part. Second attempt."""
