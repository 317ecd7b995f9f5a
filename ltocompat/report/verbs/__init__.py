"""Reports of the verbs, as documents and as JSON."""
