"""From requirements and a target to verdicts: of a requirement, of a module, of an artifact."""
