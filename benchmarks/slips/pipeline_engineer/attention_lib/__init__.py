"""Attention components, wired together by the factories in `factory`."""
