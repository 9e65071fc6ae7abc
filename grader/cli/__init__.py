"""The command line, and the same verbs for Python."""
