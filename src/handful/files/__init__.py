"""Files that are written as a whole (`writing.py`), and locks between processes (`lock.py`)."""
