"""Pure functions from protocol values to text and HTML."""
