"""The audit log: who changed users, tokens, controls and work, from where, and with which result.

Each box has one, in its home, apart from the logs. `entry` is a line and its hash, `chain` verifies
lines, `files` appends and reads them. What it proves, and what it does not: docs/mx-security.md.
"""
