"""What stored documents hold, as far as somebody reads them: checked when they are read."""
