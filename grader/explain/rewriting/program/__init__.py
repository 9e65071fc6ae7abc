"""What is known of a program: its tree, its names, and what these stand for."""
