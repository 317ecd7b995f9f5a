"""The policy of a project: what its releases are held to, what is forgiven, and until when."""
