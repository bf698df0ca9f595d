"""Prints how many tests a lane passed and failed.

usage: tally.py DIRECTORY STATUS

Counts the tests of the JUnit reports `junit*.xml` in the lane's DIRECTORY. A lane that ended with a non-zero STATUS
although no test failed, or that ran no test at all, counts as one failure.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

directory, status = Path(sys.argv[1]), int(sys.argv[2])
cases = []
for report in directory.glob("junit*.xml"):
    try:
        cases += ET.parse(report).iter("testcase")
    except (OSError, ET.ParseError):
        status = status or 1
# A skipped test is a client that was not tried.
failed = sum(any(case.find(kind) is not None for kind in ("failure", "error", "skipped")) for case in cases)
passed = len(cases) - failed
if failed == 0 and (status != 0 or passed == 0):
    failed = 1
print(passed, failed)
