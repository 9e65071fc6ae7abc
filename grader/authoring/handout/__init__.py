"""What students get: stubs, public tests with frozen fixture tensors, and the engine."""
