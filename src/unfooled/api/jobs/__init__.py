"""Attacks and certifications as jobs: what a worker needs, what an outcome depends on, how long it takes."""
