"""What is released, tried as users get it: `python -m tests.release`, by `make test-wheel`."""
