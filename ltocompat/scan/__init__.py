"""Records and summaries of the artifacts at paths; nothing here judges."""
