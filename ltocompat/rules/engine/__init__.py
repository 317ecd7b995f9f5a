"""Rules held against modules, artifacts, packages and machines."""
