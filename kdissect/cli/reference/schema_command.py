"""`kdissect schema`: the grammar of messages, in the manner of Kafka's protocol guide."""

from collections.abc import Sequence

from kdissect.cli.options.api_names import api_of
from kdissect.cli.options.argument_types import as_argument
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import add_output, writing
from kdissect.cli.output import Output
from kdissect.schema import grammar
from kdissect.schema.types import Api


def run(arguments: Sequence[str]) -> int:
    """Print all APIs, one API's versions, or one version's grammar, and return the exit code."""
    parser = command_parser(
        "schema",
        "Without arguments all APIs, with an API its versions and fields, with a version its grammar.",
    )
    parser.add_argument("api", metavar="API", nargs="?", type=as_argument(api_of), help="name or key")
    parser.add_argument("version", metavar="VERSION", nargs="?", type=int)
    parser.add_argument("--request", action="store_true", help="the request only")
    parser.add_argument("--response", action="store_true", help="the response only")
    add_output(parser.add_argument)
    options = parser.parse_args(arguments)
    if options.api is None:
        text = grammar.overview()
    elif options.version is None:
        text = grammar.api_overview(options.api)
    else:
        try:
            text = _grammars(options.api, options.version, options.request, options.response)
        except ValueError as error:
            parser.error(str(error))

    def body(output: Output) -> None:
        output.write(text.rstrip("\n").encode() + b"\n")

    return writing(parser, options, body)


def _grammars(api: Api, version: int, request: bool, response: bool) -> str:
    both = request == response
    messages = [api.request] * (request or both) + [api.response] * (response or both)
    return "\n\n".join(grammar.grammar(message, version) for message in messages)
