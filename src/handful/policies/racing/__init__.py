"""The parts of Race. Its definition, and the policy, are in `handful.policies.race`.

record.py    the constants, the parameters and the record; what a saved record must satisfy
spending.py  what arms that come up may cost, and how long none is due
duels.py     evidence, verdicts, decisions in flight
watch.py     the test whether the incumbent's mean has fallen
changes.py   arms that come and go, and guests
"""
