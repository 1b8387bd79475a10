"""The cases of the service suite, a module each; a module's name is its case's."""
