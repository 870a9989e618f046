"""The foundations: arms and their shuffled order, the record, tickets, random numbers.

Nothing here needs a third-party package.
"""
