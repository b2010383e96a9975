"""The mathematics behind the numbers: bounds, confidence, intervals, spread. NumPy and SciPy only."""
