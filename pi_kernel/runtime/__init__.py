"""One call, one batch, nested calls: the pipeline. No Jupyter, no tools."""
