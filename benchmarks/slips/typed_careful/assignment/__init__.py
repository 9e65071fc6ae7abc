"""Attention in small, pure, checked functions."""
