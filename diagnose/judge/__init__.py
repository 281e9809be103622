"""Rules judged on a recording: findings with evidence, culprits and what is at stake."""
