"""What ``draft_release.py`` is made of: asking pip, asking NVRTC, and writing rows into tables."""
