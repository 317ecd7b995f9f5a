"""What each verb tells, as a document and as JSON."""
