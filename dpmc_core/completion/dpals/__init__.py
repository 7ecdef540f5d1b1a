"""DPALS: alternating least squares at user level, its plan, and the preparation of the data."""
