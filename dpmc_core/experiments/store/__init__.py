"""The run store: finished runs as records in a database."""
