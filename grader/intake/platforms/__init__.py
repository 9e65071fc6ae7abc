"""Course platforms' downloads: who handed in what, and when."""
