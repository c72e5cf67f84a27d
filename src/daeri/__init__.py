"""Daeri: agents that act through one governed door, with evidence, on the record."""
