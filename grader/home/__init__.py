"""On a student's machine: the same tests, called directly, with frozen fixture tensors."""
