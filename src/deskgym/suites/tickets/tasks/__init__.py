"""The tasks of the tickets suite, a file each."""
