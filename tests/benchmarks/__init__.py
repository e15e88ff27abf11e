"""Benchmarks: ratios of minima in one run, printed and never asserted."""
