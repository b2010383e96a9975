"""Long work: inputs to records through the journal."""
