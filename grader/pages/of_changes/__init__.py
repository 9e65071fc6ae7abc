"""The page that compares two batches."""
