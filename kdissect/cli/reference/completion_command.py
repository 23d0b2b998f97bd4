"""`kdissect completion`: scripts by which shells complete the command line.

A script asks for each word: `kdissect completion --for SHELL WORD...` prints what the last word could become,
a line each, with a tab and its meaning behind it. So a script stays right when kdissect is updated.
"""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output

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
# Completion of kdissect for zsh, in ~/.zshrc behind compinit: source <(kdissect completion zsh)
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


def run(arguments: Sequence[str]) -> int:
    """Print a script, or what a word could become; gives the exit code."""
    parser = command_parser(
        "completion", "A script by which a shell completes commands, options and filters (-Y)."
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
    from kdissect.cli.reference.completion_words import completions  # start-up of the scripts

    return "".join(f"{text}\t{meaning}\n" for text, meaning in completions(shell, words))
