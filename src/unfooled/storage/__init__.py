"""Run folders, the journal, the identity of a model, files that are whole or absent."""
