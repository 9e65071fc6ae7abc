"""The handout for students: stubs, public tests with frozen fixture tensors, and the engine."""

from pathlib import Path

TEMPLATES = Path(__file__).with_name("template")
