"""The maths of ``predict``: evidence for components, linear machines, calibration, explanation.

This package does not depend on the estimators. ``head`` says what a prediction head is, and
``trainingdata`` what it is trained on. ``linear`` and ``generative`` have the kinds of heads.
``training`` lists, chooses and trains them, and ``shardheads`` trains them on shards.
``explanation`` divides a score into the contributions of terms and components.
"""
