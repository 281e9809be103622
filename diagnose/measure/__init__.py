"""What a recording says in numbers: selectors (sets of events), metrics (named
numbers), the step ledger, cost by line.
"""
