"""Attention, in three parts."""
