"""What a person types: click commands, their output and exit codes. No work happens here."""
