"""How text is cut into words, and how words are changed: one definition for all rooms."""
