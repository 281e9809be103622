"""The two calls of ujson that are used here, by the standard library's json."""
from json import dumps, loads
