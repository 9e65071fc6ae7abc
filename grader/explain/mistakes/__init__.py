"""Known mistakes: their predicted answers, how they are recognised, and clusters of others."""
