"""Where partitions are worked on."""
