"""What may be missing: factors, masks, calls, arguments, uses."""
