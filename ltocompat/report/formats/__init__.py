"""How documents and findings are written: one module a format."""
