"""Policies: what a project requires of its own releases (POL)."""
