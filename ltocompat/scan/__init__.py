"""From paths to records and summaries of artifacts; nothing here judges."""
