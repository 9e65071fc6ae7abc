"""Wrong answers that nobody had thought of: which are alike, and what they are called."""
