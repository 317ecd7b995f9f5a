"""A package, and what stays of it, becomes a new package."""
