"""Which colour coloring rules have for an exchange, and which filters cannot colour."""

from pathlib import Path

import pytest

from kdissect.config.read import ConfigError, read_config
from kdissect.query.binding import Context
from kdissect.query.exchange_colors import CompiledRules, color_of, compile_rules
from tests.query.exchanges import START, exchange, frame


def rules_of(folder: Path, *rules: tuple[str, str]) -> CompiledRules:
    path = folder / "kdissect.toml"
    path.write_text(
        "\n".join(
            f'[[coloring]]\nname = "rule {at}"\nfilter = "{text}"\ncolor = "{color}"\n'
            for at, (text, color) in enumerate(rules)
        )
    )
    return compile_rules(read_config(str(path)))


def test_the_first_rule_that_holds_counts(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ("api == Fetch", "red"), ("time >= +5ns", "cyan"), ("api_key < 4", "dim"))
    assert [(predicate.text, color) for predicate, color in rules] == [
        ("api == Fetch", "red"), ("time >= +5ns", "cyan"), ("api_key < 4", "dim"),
    ]  # fmt: skip
    color = color_of(rules, Context(start_ns=lambda: START))
    late = frame(time_ns=START + 5)
    made = [
        exchange(api_key=1, request=late), exchange(api_key=3, request=late), exchange(api_key=3),
        exchange(api_key=4),
    ]  # fmt: skip
    assert [color(each) for each in made] == ["red", "cyan", "dim", ""]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latncy > 5ms", "coloring rule 'rule 1': column 1: no field 'latncy'; did you mean latency?"),
        (
            "number == 3",
            "coloring rule 'rule 1': a filter that asks for findings or numbers does not apply to one "
            "exchange alone",
        ),
        (
            "has finding",
            "coloring rule 'rule 1': a filter that asks for findings or numbers does not apply to one "
            "exchange alone",
        ),
    ],
)
def test_filters_that_cannot_color(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        rules_of(tmp_path, ("api == Fetch", "red"), (text, "red"))
    assert said in str(caught.value)
    assert caught.value.line == 8
