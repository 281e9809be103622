"""Many ranks of one job: each rank's recording becomes a small summary, all summaries
together a `diagnose.measure.job.Job`.
"""
