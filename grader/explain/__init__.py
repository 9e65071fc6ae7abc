"""Explains wrong answers, in the explainer and at home, and never in a judge."""
