"""What grep and find share: globs, ignore files, the walk, and the two engines that read files.

`job` runs blocking work off the event loop. `globs`, `ignore` and `walk` decide which paths are
seen. `ripgrep` and `fallback` (with `child` and the three `regex_*` modules) search texts and give
the same rows, which `rows` reads.
"""
