"""What coding agents ask through the Model Context Protocol: the commands, inside folders that were given."""
