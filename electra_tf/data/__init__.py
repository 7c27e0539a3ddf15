"""TFRecord shards on disk, and batches out of them."""
