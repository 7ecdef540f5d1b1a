"""Privacy loss distributions: composed on a grid, by dp-accounting or tilted for tiny δ.

Import from its files, where they are needed: ``distribution`` takes two seconds to import.
"""
