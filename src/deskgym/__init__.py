"""Reinforcement-learning environments for customer-service agents."""
