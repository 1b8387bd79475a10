"""Benchmarks: `make bench`, or `python -m benchmarks NAME…`.

They print ratios within one run, because absolute times say more of the machine than of the code.
"""
