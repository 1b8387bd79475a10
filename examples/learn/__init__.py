"""A small policy learns the back office: `make learn`, or `python -m examples.learn --help`."""
