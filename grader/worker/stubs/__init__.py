"""Stand-ins: what takes the place of a package that is absent and not needed."""
