"""Suites: tasks that share tools and a rubric."""
