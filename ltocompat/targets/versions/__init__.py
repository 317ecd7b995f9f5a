"""What is written of versions, ranges and dependencies -> the drivers and releases it means."""
