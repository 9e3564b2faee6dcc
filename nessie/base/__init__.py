"""What every stage shares: source places and errors, types, names, values."""
