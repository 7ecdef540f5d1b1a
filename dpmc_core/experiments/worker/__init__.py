"""A process that computes for another one."""
