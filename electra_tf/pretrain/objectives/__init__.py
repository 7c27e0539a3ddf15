"""One thin file a pre-training objective."""
