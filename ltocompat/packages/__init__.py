"""Packages as installers see them: what their metadata promises, and what that leads to."""
