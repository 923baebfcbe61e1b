"""Help people to decide about labels and documents, with a fitted model.

``labelerrors`` lists labels that are probably wrong, and ``copies`` documents and labels that
disagree among themselves. ``corrections`` writes decisions into a file. ``contrast`` compares two
labels, and ``comparison`` two files. ``acceptance`` says which predictions can be accepted without
a look, and ``structure`` which labels could be one label or two. ``columnshares`` computes the
shares of labels and components by a column of the file, and ``intrusion`` tests whether people see
what components are about. The commands and the page print and draw what these functions return.
"""
