"""The kinds of release. Each is one value that answers for itself, from the plan to the check: see ``kind``.

To add one: a folder with its value, and a row in ``table``.
"""
