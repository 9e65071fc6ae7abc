"""Submissions that are archives: unpacking them, believing nothing that they say of themselves."""
