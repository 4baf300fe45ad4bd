"""Adds up the counts of the hours from START to END: sum.py START END FOLDER."""

import os
import sys
from pathlib import Path

start, end, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
counts = [file for file in folder.glob("*.count") if start <= file.stem < end]
total = folder / f"{start}.sum"
part = total.with_suffix(f".{os.getpid()}")
part.write_text(f"{sum(int(file.read_text()) for file in counts)}\n")
part.replace(total)
sys.stdout.write(f"{len(counts)} hours with a log\n")
