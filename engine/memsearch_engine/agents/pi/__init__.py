"""pi (tested with 0.74, 0.87 and 1.5)."""
