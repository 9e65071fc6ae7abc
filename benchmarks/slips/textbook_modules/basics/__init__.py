"""My building blocks for the attention assignment, organised as in the lectures."""
