"""Kernels of fleets: functions of policies, compiled for many members."""
