"""Pure functions on arrays: no estimator, no file, no print."""
