"""The notebook: what ``%load_ext pi_kernel`` adds to a running kernel or IPython."""
