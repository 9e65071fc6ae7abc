"""What a submission raised, told to its author: what, on which line, and what it means."""
