"""Benchmarks of speed, memory and accuracy: ``python -m benchmarks NAME [options]``.

Compare only ratios of times from the same run. Machines differ in speed, and the speed of one
machine varies over time.
"""
