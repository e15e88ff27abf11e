"""Many calls at once."""
