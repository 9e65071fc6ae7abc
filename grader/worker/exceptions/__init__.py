"""What is told of something that was raised."""
