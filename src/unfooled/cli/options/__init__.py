"""The options of the commands, each declared once, and what the shell offers for them."""
