"""Sweeps: many runs from one small file, and what they show together."""
