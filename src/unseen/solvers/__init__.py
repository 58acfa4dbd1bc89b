"""Linear algebra and optimisation."""
