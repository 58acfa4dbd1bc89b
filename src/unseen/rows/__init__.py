"""Labelled rows, the pool and passes over them, in memory or in chunks."""
