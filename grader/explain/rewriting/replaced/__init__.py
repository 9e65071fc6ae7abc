"""Rewrite rules that replace code: values, names, operators, axes, orders."""
