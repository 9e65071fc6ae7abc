"""What one worker may use, and how it is known what it uses where the kernel does not keep it."""
