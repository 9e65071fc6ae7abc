"""A submission's page."""
