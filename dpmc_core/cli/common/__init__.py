"""What several commands share: options made from declarations, and a user's own file."""
