"""The tasks: a module each, whose name is the task's."""
