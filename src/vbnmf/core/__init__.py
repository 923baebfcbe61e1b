"""The maths of the paper, on arrays. It needs only NumPy and SciPy."""
