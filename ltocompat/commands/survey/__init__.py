"""Surveys: what many packages hold and need, as a dataset that is added to and loses no row."""
