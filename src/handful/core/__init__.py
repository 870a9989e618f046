"""What the rest is built on: arms and their shuffled order, the record, tickets, random numbers.

Nothing here needs a third-party package.
"""
