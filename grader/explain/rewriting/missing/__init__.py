"""Rewrite rules for missing code: factors, masks, calls, arguments, uses."""
