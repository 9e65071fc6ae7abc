"""The filter of system calls: which are allowed and refused, and what the kernel runs for it."""
