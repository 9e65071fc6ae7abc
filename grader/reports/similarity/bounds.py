"""How much of a submission's code is compared, and what reading it may cost."""

from __future__ import annotations

from grader.intake.copying.bounds import Bounds
from grader.intake.copying.limits import MIB

MOST_FILES = 400
MOST_CHARACTERS = MIB
MOST_TOKENS = 60_000
LONGEST_LINE = 20_000  # a lexer's time may grow with the square of one
# Half a megabyte of code takes some seconds; nearly all submissions take hundredths of one.
READING_BOUNDS = Bounds(processor_seconds=30)
