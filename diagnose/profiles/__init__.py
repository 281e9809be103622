"""Recordings of profilers that see only the CPU (cProfile, py-spy, Scalene, Lightning), and tables of
Nsight Compute: read without trust, each into one typed table.
"""
