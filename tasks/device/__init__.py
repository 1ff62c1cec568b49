"""What a device does that trusts nobody: check a round, keep its own account, make one report. Knows ``base``.

It imports the standard library alone, and of ``base`` only what does too, so that it runs where little is installed.
"""
