"""The verbs, one file each: they put the rooms together."""
