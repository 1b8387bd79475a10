"""The run store's migrations, in the order of their revisions."""
