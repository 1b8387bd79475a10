"""The suites that come with deskgym: a folder each, found by name."""
