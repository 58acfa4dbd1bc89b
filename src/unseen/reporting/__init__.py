"""HTML pages, tables, figures and thumbnails, for experiments, labelling and the studio alike.

Nothing here knows what is reported: callers hand over texts, numbers and open pictures.
"""
