"""Rules of the protocol that a JSON Schema cannot say, told to schemathesis: SCHEMATHESIS_HOOKS names this module.

Schemathesis expects every call that fits the schemas to be carried out. Calls that it makes up to be good are changed here
so that they also keep the rules below; calls that it makes up to be bad stay as they are.
"""

from urllib.parse import quote, unquote

import schemathesis
from schemathesis.generation import GenerationMode


def objects(elements):
    """The objects of a list, if it is one."""
    return [element for element in elements if isinstance(element, dict)] if isinstance(elements, list) else []


def is_unneeded(character):
    """Whether no text needs a character: a control other than tab and line breaks, or a noncharacter."""
    code = ord(character)
    is_control = (code < 0x20 and character not in "\t\n\r") or 0x7F <= code <= 0x9F
    return is_control or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE or 0xD800 <= code <= 0xDFFF


def readable(value):
    """A value whose texts and names hold no characters that no text needs."""
    if isinstance(value, str):
        return "".join("?" if is_unneeded(character) else character for character in value)
    if isinstance(value, list):
        return [readable(element) for element in value]
    if isinstance(value, dict):
        return {readable(name): readable(member) for name, member in value.items()}
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    for name, value in (case.path_parameters or {}).items():
        if isinstance(value, str):
            case.path_parameters[name] = quote(readable(unquote(value)), safe="")
    if not isinstance(case.body, dict):
        return
    case.body = readable(case.body)
    # The path names the resource; another `id` beside it contradicts it.
    if "id" in (case.path_parameters or {}):
        case.body.pop("id", None)
    # A checkout is of something, or of a cart.
    if case.body.get("line_items") == [] and not case.body.get("cart_id"):
        case.body["line_items"] = [{"item": {"id": "var_abc123_blue_10"}, "quantity": 1}]
    # What names another part of the request or of an earlier answer has to name one that is there.
    for line in objects(case.body.get("line_items")):
        line.pop("parent_id", None)
        line.pop("id", None)
    fulfillment = case.body.get("fulfillment")
    for method in objects(fulfillment.get("methods") if isinstance(fulfillment, dict) else None):
        for name in ("id", "line_item_ids", "groups", "destinations"):
            method.pop(name, None)
        # Of the methods that a release may name, the shop has these.
        if method.get("type") not in ("shipping", "pickup"):
            method["type"] = "shipping"
    # A cursor is good only if the gateway issued it for this very query.
    if isinstance(case.body.get("pagination"), dict):
        case.body["pagination"].pop("cursor", None)
    # Each option is selected at most once.
    if isinstance(case.body.get("selected"), list):
        options = {option.get("name"): option for option in case.body["selected"] if isinstance(option, dict)}
        case.body["selected"] = list(options.values())
