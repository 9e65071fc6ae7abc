"""The page of the class."""
