"""Atomic writes of files (`writing.py`), and locks between processes (`lock.py`)."""
