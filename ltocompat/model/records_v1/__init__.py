"""Version 1 of the JSON that verbs write: a class a record; importing them loads msgspec."""
