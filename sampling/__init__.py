"""Choose which photos to compare: catalogue, embeddings, neighbours, pivots and branches."""
