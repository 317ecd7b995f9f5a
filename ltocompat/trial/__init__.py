"""Real linkers, drivers and compilers in processes of their own; what they answer is a value."""
