"""The command line: one thin file per command, each a door to a room."""
