"""The embedded domain: the real bird taxonomy with drawn photographs whose truth is known."""
