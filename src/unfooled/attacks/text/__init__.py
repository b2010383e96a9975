"""One short file a recipe, each a frozen dataclass whose ``search`` reads like its paper."""
