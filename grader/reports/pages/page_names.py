"""What the file of a submission's page is called, and the folders beside a report."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from grader.core.verdict import Grade

# Pages of who has code in common, beside the results.
ALIKE = "alike"
ALIKE_ANONYMOUS = "alike-anonymous"
_OTHERS = re.compile(r"[^a-z0-9]+")
_LONGEST = 40


def page_name(grade: Grade) -> str:
    """A name that any file system takes and that is no other submission's.

    It depends on the content of the submission and the seed of the batch: who has seen one page's
    name, on a server for instance, cannot tell that of another's.
    """
    letters = unicodedata.normalize("NFKD", grade.submission[: 4 * _LONGEST]).lower()
    slug = _OTHERS.sub("-", letters.encode("ascii", "ignore").decode()).strip("-")[:_LONGEST]
    told = (grade.submission, grade.submission_hash, str(grade.seed))
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{slug.strip('-') or 'submission'}-{digest[:12]}.html"
