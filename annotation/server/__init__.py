"""The local crowd: the MTurk requester protocol and the worker site, on one port."""
