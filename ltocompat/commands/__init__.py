"""Use cases, one a file; what the command line calls and what other programs may call."""
