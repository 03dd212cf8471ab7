"""The command line: one thin file a command, each a door to a room."""
