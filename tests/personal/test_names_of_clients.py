"""Personal data in ids that clients and brokers make."""

import pytest

pytest.importorskip("phonenumbers", reason="needs the extra personal")
pytest.importorskip("stdnum", reason="needs the extra personal")

from kdissect.engine.records.personal_parts import PersonalParts
from kdissect.excerpt.personal_redaction import PersonalRedaction

UUID = b"-11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize("name", [b"anna.zzq@example.com", b"app", b"user=anna.zzq@example.com"])
def test_a_member_id_is_masked_as_its_client_id(name: bytes) -> None:
    redaction = PersonalRedaction(PersonalParts(), lambda _records: None)
    made = redaction.name(name)
    assert redaction.name(name + UUID) == made + UUID
    assert len(made) == len(name)
    assert b"zzq" not in made
