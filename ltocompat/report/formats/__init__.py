"""How documents and findings are written."""
