"""Texts about versions, ranges and dependencies -> the drivers and releases that they mean."""
