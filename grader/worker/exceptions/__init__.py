"""Descriptions of exceptions that a submission raised."""
