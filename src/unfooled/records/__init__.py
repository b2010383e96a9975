"""What results are: decisions, predictions, outcomes, certificates, runs and what they add up to."""
