"""Loads the fixtures and marks that the assignment's tests are written with."""

pytest_plugins = ["grader.testing.plugin"]
