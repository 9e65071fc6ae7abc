"""Takes submissions in: finds them, copies them privately, runs nothing."""
