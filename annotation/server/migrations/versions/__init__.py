"""One file per change of the crowd server's schema."""
