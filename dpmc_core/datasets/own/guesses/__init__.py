"""What a table's columns, layout and sums probably are."""
