"""The eight tasks, a module each, found by name."""
