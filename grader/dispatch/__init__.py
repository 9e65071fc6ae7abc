"""Many submissions: who is graded next, by which judge, and where the grades go."""
