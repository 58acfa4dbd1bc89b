"""What is estimated from rows and classes: spaces, Gaussian classes, transport, graphs, calibration."""
