"""Attacks on pixels: recipes that ask through an :class:`ImageAttempt`, one file each."""
