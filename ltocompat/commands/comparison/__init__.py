"""Two releases of an artifact, side by side: what each has, which files belong together, moves."""
