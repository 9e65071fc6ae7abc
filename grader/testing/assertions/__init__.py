"""The assertions that tests make, and the words for what they find."""
