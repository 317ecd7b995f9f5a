"""This machine, or a recorded one, as an ``Environment``: drivers, GPUs, linkers, who loads which.

Facts only; what they mean for device code is for the rules to say.
"""
