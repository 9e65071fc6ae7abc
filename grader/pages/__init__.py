"""The report as static pages that open from disk: the class, each submission, two batches."""

from grader.pages.of_changes.changes import Changes
from grader.pages.report import Report, is_current, write_report
from grader.pages.whole_folder import INDEX, NotWritten

__all__ = ["INDEX", "Changes", "NotWritten", "Report", "is_current", "write_report"]
