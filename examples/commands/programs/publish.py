"""Copies a file to a mirror that is busy at first: publish.py --copy-to=FOLDER."""

import os
import shutil
import sys
from pathlib import Path

folder = Path(sys.argv[1].removeprefix("--copy-to="))
if os.environ["SYNERGY_ATTEMPT"] == "1":
    sys.exit("the mirror is busy")  # the end of standard error is the reason
folder.mkdir(parents=True, exist_ok=True)
shutil.copy("input/09.log", folder / os.environ["SYNERGY_UNIT"])
