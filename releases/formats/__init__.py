"""Published formats: read a file as rows of a release and write the rows back as that file."""
