"""Data that all rooms share, and how it crosses between processes."""
