"""A package whose device code is in libsaxpy.so."""
