"""What one image says of itself: one file for each kind; no file here knows a table of releases."""
