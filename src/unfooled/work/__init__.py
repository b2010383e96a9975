"""Long work in pieces: a job skips what its journal holds and asks an executor for the rest."""
