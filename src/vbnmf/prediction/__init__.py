"""The maths of ``predict``: evidence for components, linear machines, calibration, explanation.

Nothing here knows about estimators. ``training`` chooses and trains a prediction head, ``heads`` is
the trained head, ``explanation`` splits a score into the parts of terms and components.
"""
