"""The parts that recipes are put together from."""
