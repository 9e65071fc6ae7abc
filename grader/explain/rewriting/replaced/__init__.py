"""Rewrite rules for code that may be meant otherwise: values, names, operators, axes, orders."""
