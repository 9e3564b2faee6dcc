"""lambda_cu: the three-level intermediate representation, its text, validator and reference executor."""
