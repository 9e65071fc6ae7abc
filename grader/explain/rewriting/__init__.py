"""Small edits of programs, shared by repair and by mutation testing."""
