"""The group: Anna, Bilal and Chen, a file each."""
