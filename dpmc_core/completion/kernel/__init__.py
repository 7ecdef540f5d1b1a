"""The least-squares kernel: rows gathered into padded blocks, batched products and solves."""
