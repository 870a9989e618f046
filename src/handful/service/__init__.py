"""The decision service: `handful serve`.

bandit.py    a live bandit: what follows from its rows in the log
desk.py      what can be asked of the service, each request within one transaction
writer.py    runs requests, and commits many at once
bodies.py    the JSON that comes in and goes out
app.py       the HTTP application
"""
