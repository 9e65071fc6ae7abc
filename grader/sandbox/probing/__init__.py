"""Tries each layer of confinement for real: attempts that must be refused."""
