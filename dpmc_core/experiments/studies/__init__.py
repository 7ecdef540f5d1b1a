"""Studies: one question, answered by many runs over a few seeds."""
