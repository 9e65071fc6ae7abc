"""A fresh assignment that passes its own tests at once."""
