"""What many outcomes, certificates or answers add up to, as numbers with intervals."""
