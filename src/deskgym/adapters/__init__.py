"""Adapters: deskgym's tasks in the frameworks that people train and evaluate with.

Each framework has a module here, and an extra that installs it. Nothing is imported before its
module is.
"""
