"""What an independent review found as a user of an early release, and the tests that hold each of it now.

The statements are the review's, shortened: silence where something was wrong (B), and what was missing or
differed from command to command (C).
"""

import ast
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import kdissect
from kdissect.cli import main
from kdissect.tui.panes.exchange_columns import COLUMNS
from tests.support.console import CAPTURES, CHECKOUT, TXN

SILENT = "cli/faulty_inputs/test_never_silent.py"
HABITS = "cli/options/test_habits.py"
CONFIG = "cli/options/test_config_defaults.py"
MATRIX = "cli/output/test_format_matrix.py"
TABLES = "cli/output/test_tables_on_terminals.py"
VOCABULARY = "cli/options/test_vocabulary_everywhere.py"
NARROW = "tui/test_narrow.py"
HERE = "cli/test_findings_of_users.py"
HELD: dict[str, tuple[str, tuple[str, ...]]] = {
    "B1": (
        "a capture without Kafka, or of TLS without keys, is empty output and exit code 0",
        (f"{SILENT}::test_what_is_in_the_packets", f"{SILENT}::test_tls_without_keys"),
    ),
    "B2": (
        "a key log that opens nothing is taken without a word",
        (f"{SILENT}::test_a_key_log_that_opens_nothing",),
    ),
    "B3": ("--group nosuch, --topic nosuch: nothing at all", (f"{SILENT}::test_a_name_that_occurs_nowhere",)),
    "B4": (
        "open() of a file that is not there is an empty list",
        ("engine/test_open.py::test_what_cannot_be_opened_raises",),
    ),
    "B5": (
        "after Ctrl-C nothing says that it is partial",
        (f"{SILENT}::test_an_interrupted_command_says_what_it_left",),
    ),
    "B6": (
        "the screen opens over an input that is not there",
        ("cli/captures/test_tui.py::test_nothing_to_open_opens_no_screen",),
    ),
    "B7": (
        "an install without crates has no hot path and does not say so",
        (
            "native/test_build.py::test_a_compiler_that_fails_leaves_the_wheel_pure",
            "native/test_build.py::test_the_environment_decides_and_the_version_tells",
        ),
    ),
    "B8": (
        "the pytest plugin without a permission: skipped, and an error besides",
        ("testing/test_plugin.py::test_where_nothing_can_record_the_test_is_skipped",),
    ),
    "B9": ("a cut input is exit code 0", (f"{SILENT}::test_a_cut_input_is_exit_code_3",)),
    "C1": (
        "-e and -Y are two vocabularies; lines have no software, principal, group",
        (
            "cli/options/test_one_vocabulary.py::test_a_column_shows_something_where_the_filter_says_there_is",
            "cli/options/test_one_vocabulary.py::test_errors_with_group_and_principal_in_a_line",
            f"{VOCABULARY}::test_names_of_fields_print_what_rows_have",
        ),
    ),
    "C2": (
        "formats and options differ from command to command, and so do pipes",
        (
            f"{MATRIX}::test_rows_are_the_same_in_every_format",
            f"{MATRIX}::test_every_command_with_rows_has_every_format",
            f"{MATRIX}::test_rows_are_a_table_on_a_terminal_and_tsv_elsewhere",
        ),
    ),
    "C3": (
        "errors begin with the usage; nothing says what was meant",
        (f"{HABITS}::test_an_error_is_a_line_and_where_help_is", f"{HERE}::test_a_format_is_no_file"),
    ),
    "C4": (
        "`kdissect FILE`, `-r FILE`, extract's -w are unknown",
        (f"{HABITS}::test_files_are_named_as_elsewhere",),
    ),
    "C5": (
        "no command for logins, and no such question in the documents",
        (
            "corpus/test_logins.py::test_a_refused_user_is_nowhere",
            f"{HERE}::test_the_documents_ask_about_logins_and_quotas",
        ),
    ),
    "C6": (
        "no local or relative time, no date, no zone; on the screen neither",
        (
            f"{TABLES}::test_times_name_their_zone",
            f"{TABLES}::test_rows_of_several_days_have_dates",
            f"{HERE}::test_times_on_the_screen_have_zone_and_date",
        ),
    ),
    "C7": (
        "the order of a list is that of completion, and there is no --sort",
        (f"{MATRIX}::test_lists_are_sorted",),
    ),
    "C8": (
        "Fetches that spin are seen by no command",
        ("stats/test_fetch_sessions.py::test_clients_that_spin",),
    ),
    "C9": (
        "at 80 columns lines wrap inside words and columns vanish",
        (
            f"{TABLES}::test_no_line_of_a_table_wraps",
            f"{TABLES}::test_nothing_wraps_inside_a_word",
            f"{TABLES}::test_what_is_left_out_is_named",
        ),
    ),
    "C10": (
        "-i shows nothing until Ctrl-C; metrics have no groups",
        (
            "cli/statistics/test_live_views.py::test_it_is_drawn_in_place",
            "metrics/test_group_metrics.py::test_groups_are_as_the_command_tells_them",
        ),
    ),
    "C11": (
        "documents install from an index that has no such package",
        (f"{HERE}::test_nothing_is_installed_that_no_index_has",),
    ),
    "C12": (
        "tables of `tables` and of `pipeline` differ in places and types",
        ("pipeline/test_queries.py::test_directories_are_the_same", "pipeline/test_queries.py::test_duckdb"),
    ),
    "C13": (
        "the library has five names, and dir() shows what is none",
        (
            "architecture/test_public_names.py::test_public_names_are_there",
            "engine/test_library_tables.py::test_every_table_becomes_arrow",
            f"{HERE}::test_dir_shows_what_is_public",
        ),
    ),
    "C14": (
        "CLICOLOR is ignored; no manual pages, no examples, no options from a file, no coloring rules",
        (
            f"{HABITS}::test_colour_follows_the_environment",
            f"{HABITS}::test_help_ends_with_examples_that_can_be_parsed",
            f"{CONFIG}::test_options_of_commands_and_profiles",
            "cli/test_packaging.py::test_there_is_a_manual_page_for_each_command",
            "cli/output/test_coloring.py::test_the_first_rule_that_holds_colours_a_line",
        ),
    ),
    "C15": ("every Java client has HDR009", (f"{HERE}::test_a_java_client_has_no_finding_by_default",)),
    "C16": (
        "grammar: `1 bytes`; phrases that nobody says",
        (
            "architecture/test_plurals.py::test_no_message_counts_by_hand",
            f"{HERE}::test_phrases_that_people_stumbled_over",
        ),
    ),
    "C17": (
        "what is wrong in kdissect.toml names no file",
        (
            f"{CONFIG}::test_what_is_wrong_names_file_and_line",
            f"{CONFIG}::test_a_rule_that_check_does_not_know_is_told_with_its_line",
        ),
    ),
    "C18": (
        "the screen of 80x24: tabs and keys are cut, few rows take half of it, the message does not stay",
        (
            f"{NARROW}::test_views_and_keys_are_whole",
            f"{NARROW}::test_names_of_apis_are_whole_where_there_is_room",
            f"{NARROW}::test_few_rows_leave_their_room_to_the_table_below",
            f"{NARROW}::test_the_message_stays_where_the_form_changes",
        ),
    ),
}


@cache
def named_in(path: str) -> frozenset[str]:
    tree = ast.parse((CHECKOUT / "tests" / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_finding_is_held() -> None:
    assert list(HELD) == [f"B{n}" for n in range(1, 10)] + [f"C{n}" for n in range(1, 19)]
    for finding, (_, held_by) in HELD.items():
        assert held_by, finding
        for name in held_by:
            path, _, test = name.partition("::")
            assert test in named_in(path), f"{finding}: {name}"


@pytest.mark.parametrize("command", ["inspect", "groups", "check"])
def test_a_format_is_no_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, TXN, "-o", "json"]) == 2
    assert "--format json chooses the format" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["groups", TXN, "-o", "./json"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["json"]


def test_the_documents_ask_about_logins_and_quotas() -> None:
    asked = (CHECKOUT / "docs" / "questions.md").read_text()
    assert "kdissect logins" in asked
    assert "throttle" in asked


def test_times_on_the_screen_have_zone_and_date() -> None:
    (column,) = (column for column in COLUMNS if column.name == "time")
    assert "UTC" in column.title
    times = [datetime(2026, 11, day, 9, 12, 48, 929448, UTC) for day in (21, 21, 22)]
    log: Any = SimpleNamespace(time_ns=lambda row: round(times[row].timestamp() * 10**6) * 1000)
    shown = [column.cell(cast(Any, log), row)[0] for row in range(3)]
    assert shown == ["09:12:48.929448", "09:12:48.929448", "11-22 09:12:48"]


PAGES = ["README.md", *(path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "docs").rglob("*.md"))]
NO_INDEX = ("pip install kdissect", "pip install 'kdissect", 'pip install "kdissect', "uses: kdissect/")


def test_nothing_is_installed_that_no_index_has() -> None:
    for page in (*PAGES, "action.yml", "packaging/Dockerfile"):
        lines = (CHECKOUT / page).read_text().splitlines()
        assert not [line for line in lines if any(each in line for each in NO_INDEX)], page


def test_dir_shows_what_is_public() -> None:
    assert {name for name in dir(kdissect) if not name.startswith("__")} == set(kdissect.__all__)


@pytest.mark.parametrize("name", ["kafka44_java_groups", "kafka44_java_produce"])
def test_a_java_client_has_no_finding_by_default(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(CAPTURES / f"{name}.pcapng"), "--exit-zero"]) == 0
    assert "HDR009" not in capfd.readouterr().out


@pytest.mark.parametrize(
    "phrase", ["as 4.0 is one", "nothing is told apart by", "makes them dear", "make them dear"]
)
def test_phrases_that_people_stumbled_over(phrase: str) -> None:
    paths = [CHECKOUT / page for page in PAGES] + sorted((CHECKOUT / "kdissect").rglob("*.py"))
    assert not [str(path) for path in paths if phrase in path.read_text()]
