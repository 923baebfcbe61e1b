"""Speed and memory of ``vbnmf`` beside its peers: ``python -m benchmarks NAME [options]``.

Only ratios from one run mean anything: machines differ, and so does one machine from hour to hour.
"""
