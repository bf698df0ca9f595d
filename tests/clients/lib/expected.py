"""Holds the JUnit reports of a suite against the list of its tests that are expected to fail.

usage: expected.py LIST REPORTS OUT

LIST has a line per such test: its name as MODULE.CLASS.TEST, and the reason. REPORTS is a directory of reports, MODULE.xml
each. OUT becomes one report, in which the tests of the list pass if they fail or are skipped, and fail if they pass or are
not there.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

listed, reports, out = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
lines = [line for line in listed.read_text().splitlines() if line.strip() and not line.startswith("#")]
expected = dict(line.split(maxsplit=1) for line in lines)
suite = ET.Element("testsuite", name=listed.stem)
seen = set()


def record(name, problem):
    case = ET.SubElement(suite, "testcase", name=name)
    if problem:
        ET.SubElement(case, "failure", message=problem)
        print(f"FAILED {name}: {problem}")


for report in sorted(reports.glob("*.xml")):
    for case in ET.parse(report).iter("testcase"):
        name = f"{report.stem}.{case.get('classname').rpartition('.')[2]}.{case.get('name')}"
        problems = [each.get("message") or "it failed" for kind in ("failure", "error", "skipped") for each in case.findall(kind)]
        # absl reports a test that was skipped without saying so.
        problems += ["it was skipped"] * (case.get("status") == "notrun")
        seen.add(name)
        if name not in expected:
            record(name, problems[0] if problems else None)
        elif problems:
            print(f"expected to fail: {name}: {expected[name]}")
            record(name, None)
        else:
            record(name, "it passes; the list of expected failures says otherwise")
for name in expected.keys() - seen:
    record(name, "it is listed as an expected failure, and was not run")
ET.ElementTree(suite).write(out)
sys.exit(any(case.find("failure") is not None for case in suite))
