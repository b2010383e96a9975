"""Opening Hugging Face weights and tokenizers safely; devices, precision and batches."""
