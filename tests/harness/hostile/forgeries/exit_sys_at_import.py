"""Leaves with success while it is imported."""

import sys

sys.exit(0)
