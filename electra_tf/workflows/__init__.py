"""One file a deed: where text, numbers and the jobs meet."""
