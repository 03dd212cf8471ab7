"""The explorer: a local web page on which to see zero stability, and the JSON interface that it draws from."""

from zerosnet.explorer.server import serve

__all__ = ["serve"]
