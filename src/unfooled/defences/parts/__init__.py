"""What several methods share: copies and versions of texts, divergences, bounds, scales, preparation."""
