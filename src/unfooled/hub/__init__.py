"""Opening Hugging Face weights and tokenizers safely; devices, threads and precision."""
