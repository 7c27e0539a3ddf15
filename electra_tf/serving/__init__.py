"""Models as SavedModels that a stock TensorFlow Serving loads: text in, answers out."""
