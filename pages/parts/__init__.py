"""What the pages are made of: a room for each page, ui for all of them, server for none."""
