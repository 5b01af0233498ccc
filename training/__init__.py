"""Learn from a release: features, models, metrics, one loop, evaluation."""
