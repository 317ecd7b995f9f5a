"""Policies: demands of a project on its own releases (POL)."""
