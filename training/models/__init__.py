"""The reference models, one file each."""
