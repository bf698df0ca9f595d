"""Tools of AutoGen and CrewAI, made of the lists in a file: prints what fails, by list and framework, as JSON."""

import copy
import json
import sys

from autogen_core.utils import schema_to_pydantic_model
from crewai.utilities.pydantic_schema_utils import create_model_from_schema
from mcpadapt.utils.modeling import create_model_from_json_schema, resolve_refs_and_remove_defs

# As `McpToolAdapter`, CrewAI's own MCP client and `MCPServerAdapter` do.
CHECKERS = {
    "autogen": schema_to_pydantic_model,
    "crewai": create_model_from_schema,
    "crewai-tools": lambda schema: create_model_from_json_schema(resolve_refs_and_remove_defs(schema)),
}

# What a model has to be told is a string.
STRINGS = ["checkout.line_items.item.id", "checkout.buyer.email", "checkout.fulfillment.methods.destinations.address_country"]


def resolved(schema, root):
    """A schema without what frameworks put around it: references, arrays, and that it may be absent."""
    while True:
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
        elif schema.get("anyOf"):
            schema = next(choice for choice in schema["anyOf"] if choice.get("type") != "null")
        elif schema.get("type") == "array":
            schema = schema["items"]
        else:
            return schema


def judge(tool, check):
    try:
        model = check(copy.deepcopy(tool["inputSchema"])).model_json_schema()
    except Exception as error:  # Whatever it is, the framework would not have the tool.
        yield f"{tool['name']}: {type(error).__name__}: {error}"
        return
    for path in STRINGS if tool["name"] == "create_checkout" else []:
        schema = resolved(model, model)
        for name in path.split("."):
            schema = resolved(schema["properties"][name], model)
        if schema.get("type") != "string":
            yield f"{tool['name']}: {path} is {schema}"


def main():
    with open(sys.argv[1]) as file:
        lists = json.load(file)
    verdicts = {
        name: {checker: [fault for tool in tools for fault in judge(tool, check)] for checker, check in CHECKERS.items()}
        for name, tools in lists.items()
    }
    print(json.dumps(verdicts))


main()
