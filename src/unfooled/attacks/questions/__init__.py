"""Attacks on questions: sentences that look like an answer and are none, added to the context."""
