"""The facts of a program: its tree, its names, and the natures of its values."""
