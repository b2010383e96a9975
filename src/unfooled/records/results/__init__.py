"""What the verbs return: results that show themselves in a terminal, a notebook and as a frame."""
