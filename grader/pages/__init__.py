"""The report as static pages that open from disk: the class, each submission, two batches."""

from grader.pages.changes import Changes
from grader.pages.report import NotWritten, Report, write_report

__all__ = ["Changes", "NotWritten", "Report", "write_report"]
