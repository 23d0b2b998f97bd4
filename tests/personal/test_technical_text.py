"""Texts of programs, machines and documents that use the words of personal data, and have none."""

import pytest

from kdissect.personal.contents import examine, masked

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

CODE_ABOUT_SECRETS = (
    "self.refresh_token: Optional[str]",
    "api_keys: _API_KEYS_DATA",
    "pwd: None, **kwargs",
    "com.sun.management.jmxremote.password.file=filepath",
    "connect(password=password, access_token=access_token)",
    "password=getPassword()",
    'if line == "-----BEGIN PRIVATE KEY-----":',
)


@pytest.mark.parametrize("text", CODE_ABOUT_SECRETS)
def test_code_about_secrets_has_none(text: str) -> None:
    assert not examine(text.encode()).found


def left(text: str) -> str:
    """Return a text without what is found in it. Nothing is found in it again."""
    without = masked(examine(text.encode()))
    assert len(without) == len(text.encode())
    assert not examine(without).found
    return without.decode()


BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"


def test_a_private_key_without_its_end_is_masked() -> None:
    both = f"{BEGIN}\nMIIabc\n{BEGIN}\nMIIdef\n{END}"
    assert set(left(both)) == {"x"}
    assert left(f"{BEGIN}\nMIIabc\nMIIdef==\n; next") == "x" * 44 + "; next"
    assert left(f"{BEGIN}\\nMIIabc\\nMIIdef\\n") == "x" * 45
    assert left(f"{BEGIN}%0AMIIabc%0AMIIdef&user=7") == "x" * 45 + "&user=7"
    assert left(f"{BEGIN}\nMIIabc\n{BEGIN}\nMIIdef") == "x" * 69


SECRETS_WITH_FORMS = ('{"password": "Bearer abcdefghijklmnop"}', '{"password": "http://u:hunter22@h/x"}')


@pytest.mark.parametrize("text", SECRETS_WITH_FORMS)
def test_a_field_of_a_password_is_masked_whole(text: str) -> None:
    start = text.index(': "') + 3
    assert left(text) == text[:start] + "x" * (len(text) - start - 2) + '"}'
