"""The decision service: `handful serve`.

bandit.py             a live bandit, the fold of its rows in the log; config.py has its
                      settings, counted.py its counters, saving.py its bytes
bandits.py            the live bandits: loaded from the store, and saved to it
desk.py               requests, each within one transaction
bandit_requests.py    ... about bandits and their arms
decision_requests.py  ... about decisions and their rewards
batch.py              what the requests of one transaction share
recent.py             decisions that have no answer yet, in memory
shared.py             stores that several servers use; shared_session.py, shared_bandits.py
copying.py            copies of a store, and their comparison with the source
writer.py             runs requests, and commits many at once
disk.py               the thread that waits for the disk
bodies.py             the JSON that comes in and goes out
http.py               HTTP/1.1 on one connection; answer_heads.py has the heads of answers
app.py                the application, through which every request passes
endpoint.py           handles a request for an operation of api.py, in three steps
"""
