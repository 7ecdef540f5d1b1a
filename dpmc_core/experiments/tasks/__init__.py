"""The tasks: how data is split, what is measured, and which baselines are beside it."""
