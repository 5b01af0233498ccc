"""What a project is: shared records, state store, directory layout, files, seeds, clock, errors."""
