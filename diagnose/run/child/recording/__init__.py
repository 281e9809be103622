"""torch's profiler: started, marked, measured for what it costs, and written."""
