"""Publish versioned datasets: build, splits, licences, card, manifest, verify."""
