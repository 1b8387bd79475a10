"""The tickets suite: language-only support tickets in three tiers."""
