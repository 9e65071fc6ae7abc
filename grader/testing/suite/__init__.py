"""An assignment's tests: collected once, then run again and again, at whoever's bench."""
