"""The menus of our suites, a module each, and one for any other suite, from its schemas."""
