"""Declared dataset protocols, one TOML file each: data, no code."""
