"""From bytes to stored images and object files; nothing here knows a table of NVIDIA's."""
