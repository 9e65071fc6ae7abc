"""The handout for students: stubs, public tests with frozen fixture tensors, and the engine."""
