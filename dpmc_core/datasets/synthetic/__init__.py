"""Synthetic ratings, faces and documents, made from a seed."""
