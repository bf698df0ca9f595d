"""Turns what `cargo test` says into a JUnit report.

usage: cargo_junit.py < OUTPUT > REPORT
"""

import re
import sys
import xml.etree.ElementTree as ET

suite = ET.Element("testsuite", name="cargo")
for line in sys.stdin:
    found = re.match(r"test (.+) \.\.\. (ok|FAILED|ignored)", line)
    if not found:
        continue
    name, outcome = found.groups()
    case = ET.SubElement(suite, "testcase", name=name)
    if outcome != "ok":
        ET.SubElement(case, "failure" if outcome == "FAILED" else "skipped")
ET.ElementTree(suite).write(sys.stdout, encoding="unicode", xml_declaration=True)
