"""Chinese text into numbers: corpus, words, tokens and the units that are masked together."""
