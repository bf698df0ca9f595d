"""Rules of the protocol that a JSON Schema cannot say, told to schemathesis: SCHEMATHESIS_HOOKS names this module.

Schemathesis expects every call that fits the schemas to be carried out. Calls that it makes up to be good are changed here
so that they also keep the rules below; calls that it makes up to be bad stay as they are.
"""

import re

import schemathesis
from schemathesis.generation import GenerationMode


# The filters of merchants and locations, by the end of the path.
FILTERS = {
    "/merchants/search": {"category": {}, "open_now": {}, "fulfillment_method": {}, "location": {"address": {}, "radius": {}}},
    "/locations/search": {"hours": {"open_at": {}}, "amenities": {}},
    "/locations/lookup": {"hours": {"open_at": {}}, "amenities": {}},
}


def keep(filters, known):
    """Takes out of an object what is not known, also deeper down where more is said about it."""
    if not isinstance(filters, dict):
        return
    for name in list(filters):
        if name not in known:
            del filters[name]
        elif known[name]:
            keep(filters[name], known[name])


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    # Profiles are fetched from public web servers: not from any host, nor from any port.
    for name in case.headers or {}:
        if name.lower() == "ucp-agent":
            case.headers[name] = re.sub(r"https://[^/?#\"]+", "https://platform.example", case.headers[name])
    if not isinstance(case.body, dict):
        return
    # Filters that are not known are refused, lest a search be wider than it was meant to be.
    for path, known in FILTERS.items():
        if case.path.endswith(path):
            keep(case.body.get("filters"), known)
    # A cursor is good only if the gateway issued it for this very query.
    if isinstance(case.body.get("pagination"), dict):
        case.body["pagination"].pop("cursor", None)
    # Each option is selected at most once.
    if isinstance(case.body.get("selected"), list):
        options = {option.get("name"): option for option in case.body["selected"] if isinstance(option, dict)}
        case.body["selected"] = list(options.values())
