"""Prints how many tests of a JUnit report passed and failed.

usage: tally.py REPORT STATUS

A lane that ended with a non-zero STATUS although no test failed, or that ran no test at all, counts as one failure.
"""

import sys
import xml.etree.ElementTree as ET

report, status = sys.argv[1], int(sys.argv[2])
try:
    cases = list(ET.parse(report).iter("testcase"))
except (OSError, ET.ParseError):
    cases = []
# A skipped test is a client that was not tried.
failed = sum(any(case.find(kind) is not None for kind in ("failure", "error", "skipped")) for case in cases)
passed = len(cases) - failed
if failed == 0 and (status != 0 or passed == 0):
    failed = 1
print(passed, failed)
