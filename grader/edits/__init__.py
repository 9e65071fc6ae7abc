"""Small edits of programs: the one vocabulary of mending and of mutation testing."""
