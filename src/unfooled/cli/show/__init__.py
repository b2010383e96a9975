"""What the commands print: progress, tables, changed words, certificates in words."""
