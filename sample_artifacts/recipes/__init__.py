"""What the samples are: one module per folder of samples."""
