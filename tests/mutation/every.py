"""All mutators: importing this registers them, area by area."""

from tests.mutation.families import (
    answers,
    authentication,
    batches,
    bytes_of_bodies,
    bytes_of_headers,
    histories,
    inside_batches,
    newer_histories,
    order_of_lines,
    producers,
    related_values,
    remembered_groups,
    remembered_offsets,
    values_of_any_api,
    values_of_apis,
    values_of_clients,
)
from tests.mutation.mutators import MUTATORS, Mutator

AREAS = (
    bytes_of_headers, bytes_of_bodies, values_of_any_api, values_of_apis, values_of_clients, order_of_lines,
    answers, authentication, histories, newer_histories, remembered_groups, remembered_offsets,
    producers, batches, inside_batches, related_values,
)  # fmt: skip


def every_mutator() -> list[Mutator]:
    """Return every mutator, by the code of the rule that owns it."""
    assert AREAS
    return sorted(MUTATORS, key=lambda mutator: (mutator.owner, mutator.name))
