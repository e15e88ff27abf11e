"""Sessions: a directory, a registry, a pipeline and a trace."""
