"""How any model of this house is trained: optimizer, loop, checkpoints."""
