"""Training on the Hugging Face ``Trainer``."""
