"""What is there and may be meant otherwise: values, names, operators, axes, orders."""
