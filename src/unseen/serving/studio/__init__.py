"""The studio: a local page on which a method can be watched, corrected and compared."""
