"""Plain data between judge and worker; it knows no secret and imports none of the engine."""
