"""The facts of a program: its tree, its names, and the meanings of these names."""
