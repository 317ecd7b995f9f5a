"""Values, errors and limits that every other room shares; they import nothing of ours."""
