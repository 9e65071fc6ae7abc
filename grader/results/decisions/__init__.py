"""What instructors decide after grading, and what a submission gets in the end."""
