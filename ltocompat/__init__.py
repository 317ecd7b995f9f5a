"""Tells whether CUDA device code will link and load where it is going."""
