"""From what files hold and a deploy target to findings; nothing here reads a file."""
