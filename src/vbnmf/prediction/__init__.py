"""The maths of ``predict``: evidence for components, linear machines, calibration, explanation.

This package does not depend on the estimators. ``training`` chooses and trains a prediction head,
and ``shardheads`` trains it on shards. ``heads`` has the trained head. ``explanation`` divides a
score into the contributions of terms and components.
"""
