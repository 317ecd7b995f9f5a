"""Readers of single images, one file for each kind; no file here knows a table of releases."""
