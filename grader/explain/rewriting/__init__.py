"""Small edits of programs: the one vocabulary of repair and of mutation testing."""
