"""A package that adds a defence, a predictor, a recipe and a task to unfooled through entry points."""
