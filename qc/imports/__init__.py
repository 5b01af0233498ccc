"""Finished crowd work from files: one reader per format, each returns items and judgments."""
