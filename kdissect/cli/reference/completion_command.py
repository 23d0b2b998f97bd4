"""`kdissect completion`: scripts by which shells complete the command line.

A script calls it for each word: `kdissect completion --for SHELL WORD...` prints completions of the last
word, a line each, with a tab and its meaning after it. So a script stays right when kdissect is updated.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence

from kdissect.cli import COMMANDS, command_of
from kdissect.cli.formats.titled_tables import SUGGESTED
from kdissect.cli.options.command_parser import SHOW_PARSER, ParserShownError, command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.schema.protocol_messages import api_keys, api_name

_ASK = "--for"

_BASH = """\
# Completion of kdissect for bash, in ~/.bashrc: source <(kdissect completion bash)
_kdissect() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <("${COMP_WORDS[0]}" completion --for bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _kdissect kdissect
"""
_ZSH = """\
#compdef kdissect
# Completion of kdissect for zsh, in ~/.zshrc after compinit: source <(kdissect completion zsh)
_kdissect() {
    local line
    local -a values meanings
    for line in "${(@f)$("${words[1]}" completion --for zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\\t'*}")
        meanings+=("${line/$'\\t'/  -- }")
    done
    if (( ${#values} )); then
        compadd -l -d meanings -a values
    else
        _files
    fi
}
compdef _kdissect kdissect
"""
_FISH = """\
# Completion of kdissect for fish: kdissect completion fish > ~/.config/fish/completions/kdissect.fish
function __kdissect_complete
    set -l before (commandline -opc)
    set -l found (command $before[1] completion --for fish $before[2..] "$(commandline -ct)" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$(commandline -ct)"
    end
end
complete -c kdissect -f -k -a '(__kdissect_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
Candidate = tuple[str, str]
"""A word that completes the last one of a command line, and its meaning."""


def run(arguments: Sequence[str]) -> int:
    """Print a script, or the completions of a word, and return the exit code."""
    parser = command_parser(
        "completion", "Print a script with which a shell completes commands, options and filters (-Y)."
    )
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help=", ".join(SCRIPTS))
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    is_asked = list(arguments[:1]) == [_ASK]  # then there are words with options that are not this command's
    options = parser.parse_args(arguments[1:2] if is_asked else arguments)
    text = _answer(options.shell, arguments[2:]) if is_asked else SCRIPTS[options.shell]

    def body(output: Output) -> None:
        output.write(text.encode("utf-8", "replace"))

    return writing(parser, options, body)


def _answer(shell: str, words: Sequence[str]) -> str:
    return "".join(f"{text}\t{meaning}\n" for text, meaning in completions(shell, words))


# Values are imported when a word is completed to one: start-up, once for every press of a key.
_BEGINNINGS = {"--help": "the commands", "--version": "the version"}


def completions(shell: str, words: Sequence[str]) -> list[Candidate]:
    """Return completions for the last word after `kdissect`, or no completions if it may be a file.

    `shell`: bash has the words as they were typed, with quotes, and wants the answer so.
    """
    if not words:
        return []
    *before, typed = words
    word, quote = _unquoted(typed)
    found = _candidates([_unquoted(each)[0] for each in before], word)
    kept = [each for each in found if each[0].casefold().startswith(word.casefold())]
    if quote and len(kept) == 1:  # else the shell would close the quote, in the middle of a filter
        kept.append((f"{kept[0][0]} ", ""))
    return [(_quoted(text, quote), meaning) for text, meaning in kept] if shell == "bash" else kept


def _candidates(before: Sequence[str], word: str) -> Iterable[Candidate]:
    if not before:
        return [*((name, what) for name, (_, what) in COMMANDS.items()), *_BEGINNINGS.items()]
    if before[0] not in COMMANDS:
        return ()
    action = _action(before)
    parser = parser_of(before[0], *action)
    options = parser._option_string_actions  # noqa: SLF001  argparse has no other way to ask
    asked = options.get(before[-1])
    if asked is not None and asked.nargs != 0:
        return _values(asked, word)
    if word.startswith("-"):
        return _options(parser, word)
    return () if action else _positionals(parser, word)


def _action(before: Sequence[str]) -> Sequence[str]:
    """Return the word that says what a command does and which options there are, if it has such a word."""
    if before[0] != "pipeline":
        return ()
    from kdissect.cli.parquet_tables.pipeline_command import ACTIONS  # start-up

    return [word for word in before[1:2] if word in ACTIONS]


def parser_of(command: str, *action: str) -> ArgumentParser:
    """Return the parser of a command or of its action, without running either."""
    try:
        command_of(command).run([*action, SHOW_PARSER])
    except ParserShownError as shown:
        return shown.parser
    raise AssertionError(f"{command} does not parse its arguments first")


def _options(parser: ArgumentParser, word: str) -> Iterator[Candidate]:
    for action in parser._actions:  # noqa: SLF001
        if action.help == SUPPRESS:
            continue
        names = action.option_strings
        long = [name for name in names if name.startswith("--")]
        for name in long or names:
            yield name, _meaning(action)
        if word == "-":
            yield from ((name, _meaning(action)) for name in names if long and name not in long)


def _positionals(parser: ArgumentParser, word: str) -> Iterable[Candidate]:
    """Return values for the command's first argument, or no values if it is a file."""
    for action in parser._actions:  # noqa: SLF001
        if not action.option_strings:
            return _values(action, word)
    return ()


def _values(action: Action, word: str) -> Iterable[Candidate]:
    choices = getattr(action, SUGGESTED, None) if action.choices is None else action.choices
    if choices is not None:
        return [(str(choice), "") for choice in choices]
    make = _VALUES.get(action.dest)
    return () if make is None else make(word)


def _filters(word: str) -> Iterator[Candidate]:
    from kdissect.query.complete import complete  # start-up: the filter language

    found = complete(word, len(word))
    for candidate in found.candidates:
        yield word[: found.start] + candidate.text, candidate.help


def _listed(names: Callable[[], Iterable[Candidate]]) -> Callable[[str], Iterator[Candidate]]:
    """Return the last of several names with commas between them."""

    def values(word: str) -> Iterator[Candidate]:
        begun = word[: word.rfind(",") + 1]
        for name, meaning in names():
            yield begun + name, meaning

    return values


def _apis() -> Iterator[Candidate]:
    for key in sorted(api_keys()):
        yield api_name(key) or str(key), f"API {key}"


def _rules() -> Iterator[Candidate]:
    from kdissect.rules.registry import EVERY_RULE  # start-up: every rule is a module

    for rule in EVERY_RULE:
        yield rule.code, rule.name


def _dimensions() -> Iterator[Candidate]:
    from kdissect.stats.dimensions import DIMENSIONS  # start-up

    for name in DIMENSIONS:
        yield name, ""


def _limits() -> Iterator[Candidate]:
    from kdissect.model.limit_notes import LIMIT_NOTES  # start-up

    for name, note in LIMIT_NOTES.items():
        yield f"{name}=", note.what


# By the argument's name in the parser, whatever the command: one name means one thing everywhere.
_VALUES: dict[str, Callable[[str], Iterable[Candidate]]] = {
    "filter": _filters,
    "api": _listed(_apis),
    "by": _listed(_dimensions),
    "limits": _listed(_limits),
    "select": _listed(_rules),
    "ignore": _listed(_rules),
    "rule": lambda _: _rules(),
}


def _meaning(action: Action) -> str:
    """Return the first words of an option's help, in one line."""
    return " ".join((action.help or "").replace("%%", "%").split())


def _unquoted(word: str) -> tuple[str, str]:
    """Return a word without the quoting of the shell, and the quote that it begins with."""
    quote = word[:1] if word[:1] in ("'", '"') else ""
    if not quote:
        return re.sub(r"\\(.)", r"\1", word), ""
    text = word[1:].removesuffix(quote) if len(word) > 1 else ""
    return (text if quote == "'" else re.sub(r'\\(["\\$`])', r"\1", text)), quote


def _quoted(text: str, quote: str) -> str:
    """Return bash's replacement for a word: inside the open quote, or with backslashes."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return re.sub(r'(["\\$`])', r"\\\1", text)
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)
