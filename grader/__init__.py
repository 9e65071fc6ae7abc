"""Grades student PyTorch implementations against hidden references."""

__version__ = "0.1.0"
