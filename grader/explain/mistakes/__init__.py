"""Known mistakes: predicted, recognised in an answer, named, and clusters of unknown ones."""
