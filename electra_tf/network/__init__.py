"""The bricks of the encoders, and the heads on top of them."""
