"""What the process of a job can be."""

from __future__ import annotations

import enum


class Role(enum.StrEnum):
    """Who answers the lines that a job is sent."""

    JUDGE = "judge"
    EXPLAINER = "explainer"
