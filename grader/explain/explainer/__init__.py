"""Adds words to verdicts that are stored; it may be late, wrong or dead, and no grade changes."""
