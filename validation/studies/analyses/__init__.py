"""What single studies ask beyond the verdicts: each function makes tables of the estimates."""
