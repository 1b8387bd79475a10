"""The scenarios of the tickets suite, a file for each category."""
