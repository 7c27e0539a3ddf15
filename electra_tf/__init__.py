"""Pre-train, fine-tune, convert and serve ELECTRA models: this package sees only numbers."""
