"""Attention assignment, Elif Yılmaz."""
