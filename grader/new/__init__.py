"""A fresh assignment that passes its own tests at once."""

from grader.new.layout import lay_out_assignment

__all__ = ["lay_out_assignment"]
