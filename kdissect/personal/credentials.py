"""Passwords, keys and tokens."""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from itertools import chain

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.telling_names import of_context

_BEGIN = "-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:[ \t]{0,9}(?:\r?\n|\\[rn]|%0[adAD]))"  # of a line, or its escape
# Each with a form that nothing else has, and with characters of it, which are looked up first.
_FORMS = (
    (
        "AWS access key",
        ("AKIA", "ASIA"),
        re.compile(r"(?<![A-Za-z0-9/+])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9/+=])"),
    ),
    (
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_\w{22,255})(?!\w)"),
    ),
    ("GitLab token", ("glpat-",), re.compile(r"(?<![\w-])glpat-[\w-]{20,64}(?![\w-])")),
    ("Slack token", ("xox",), re.compile(r"(?<!\w)xox[abeoprs]-[A-Za-z0-9-]{10,200}(?!\w)")),
    ("Google API key", ("AIza",), re.compile(r"(?<![\w-])AIza[\w-]{35}(?![\w-])")),
    (
        "Stripe key",
        ("k_live_", "k_test_"),
        re.compile(r"(?<!\w)[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}(?!\w)"),
    ),
    ("SendGrid key", ("SG.",), re.compile(r"(?<![\w.])SG\.[\w-]{22}\.[\w-]{43}(?![\w-])")),
    ("npm token", ("npm_",), re.compile(r"(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)")),
    ("PyPI token", ("pypi-AgE",), re.compile(r"(?<![\w-])pypi-AgE[\w-]{50,1000}(?![\w-])")),
    ("Hugging Face token", ("hf_",), re.compile(r"(?<!\w)hf_[A-Za-z0-9]{34}(?!\w)")),
    ("DigitalOcean token", ("_v1_",), re.compile(r"(?<!\w)do[opr]_v1_[0-9a-f]{64}(?!\w)")),
    ("Shopify token", ("shp",), re.compile(r"(?<!\w)shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}(?!\w)")),
    ("Google client secret", ("GOCSPX-",), re.compile(r"(?<![\w-])GOCSPX-[\w-]{28}(?![\w-])")),
    ("Vault token", ("hvs.", "hvb."), re.compile(r"(?<![\w.])hv[sb]\.[\w-]{24,400}(?![\w-])")),
    (
        "OpenAI key",
        ("sk-",),
        re.compile(r"(?<![\w-])sk-(?:(?:proj|svcacct|admin)-[\w-]{40,200}|[A-Za-z0-9]{48})(?![\w-])"),
    ),
    ("Anthropic key", ("sk-ant-",), re.compile(r"(?<![\w-])sk-ant-[\w-]{40,200}(?![\w-])")),
    ("Slack app token", ("xapp-",), re.compile(r"(?<![\w-])xapp-\d-[A-Za-z0-9-]{20,200}(?![\w-])")),
    (
        "Slack webhook",
        ("hooks.slack.com",),
        re.compile(r"https://hooks\.slack\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,30}"),
    ),
    ("Google token", ("ya29.",), re.compile(r"(?<![\w.])ya29\.[\w-]{30,2000}(?![\w-])")),
    ("Telegram token", (":AA",), re.compile(r"(?<![\w:])\d{8,10}:AA[\w-]{32,36}(?![\w-])")),
    ("Square token", ("sq0",), re.compile(r"(?<![\w-])sq0(?:atp-[\w-]{22}|csp-[\w-]{43})(?![\w-])")),
    ("Linear key", ("lin_api_",), re.compile(r"(?<!\w)lin_api_[A-Za-z0-9]{40}(?!\w)")),
    ("Figma token", ("figd_",), re.compile(r"(?<!\w)figd_[\w-]{40,60}(?![\w-])")),
    ("Atlassian token", ("ATATT3",), re.compile(r"(?<![\w-])ATATT3[\w=-]{100,300}(?![\w-])")),
    ("Docker token", ("dckr_pat_",), re.compile(r"(?<!\w)dckr_pat_[\w-]{27}(?![\w-])")),
    ("New Relic key", ("NRAK-",), re.compile(r"(?<![\w-])NRAK-[A-Z0-9]{27}(?![\w-])")),
    ("RubyGems key", ("rubygems_",), re.compile(r"(?<!\w)rubygems_[0-9a-f]{48}(?!\w)")),
    ("Postman key", ("PMAK-",), re.compile(r"(?<![\w-])PMAK-[0-9a-f]{24}-[0-9a-f]{34}(?![\w-])")),
    ("Grafana token", ("glsa_",), re.compile(r"(?<!\w)glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}(?!\w)")),
    (
        "Doppler token",
        ("dp.",),
        re.compile(
            r"(?<![\w.])dp\.(?:st|ct|pt|sa|scim|audit)\.(?:[a-z0-9-]{2,35}\.)?[A-Za-z0-9]{40,44}(?!\w)"
        ),
    ),
    (
        "Tailscale key",
        ("tskey-",),
        re.compile(r"(?<![\w-])tskey-[a-z]{3,8}-[A-Za-z0-9]{8,24}-?[A-Za-z0-9]{20,50}(?![\w-])"),
    ),
    ("age key", ("AGE-SECRET-KEY-1",), re.compile(r"(?<![\w-])AGE-SECRET-KEY-1[A-Z0-9]{58}(?!\w)")),
    (
        "Azure key",
        ("AccountKey=", "AccessKey="),
        re.compile(r"(?:(?<=AccountKey=)|(?<=AccessKey=))[A-Za-z0-9+/]{43,86}={1,2}"),
    ),
    ("Databricks token", ("dapi",), re.compile(r"(?<!\w)dapi[0-9a-f]{32}(?:-\d)?(?!\w)")),
    (
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            rf"{_BEGIN}(?:[^-]"
            rf"|-(?!----)){{1,20000}}-----END (?:[A-Z]{{2,10}} ){{0,2}}PRIVATE KEY(?: BLOCK)?-----"
            # Without its end: as far as headers and base64 go (RFC 1421, section 4.4; RFC 7468, section 3).
            rf"|{_BEGIN}(?:{_BREAK}{{1,9}}|\s{{0,9}}(?=[\w+/=]{{16}}))[A-Za-z0-9+/]{{4}}"
            r"(?:[\w+/=:,%\s]|\\[rn]|-(?!----)){0,20000}"
        ),
    ),
)
_JWT = re.compile(r"(?<![\w-])(eyJ[\w-]{8,4000})\.([\w-]{4,16000})\.([\w-]{0,4000})(?![\w-])")
_BEARER = re.compile(r"(?<!\w)(?:[Bb]earer|BEARER)\s{1,4}([\w.~+/-]{16,8000}=*)")
# Other schemes than those of IANA are words only next to the name of the header.
_SCHEME = re.compile(
    r"(?i:authorization[\"']?\s?[:=]\s?[\"']?(?:token|api-?key|key)\s(?:token=)?\"?)([\w.~+/-]{16,8000}=*)"
)
_BASIC = re.compile(r"(?<!\w)(?:[Bb]asic|BASIC)\s{1,4}([A-Za-z0-9+/]{6,2000}={0,2})(?![\w+/])")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,2000}={0,2}")
_URL = re.compile(r"(?<!\w)[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,200}:([^\s/@\"'<>]{1,200})@[\w\[]")
_NAMES = (
    "(?:password|passwd|passwort|kennwort|pwd|passphrase|secret[_ -]?key|client[_ -]?secret|api[_ -]?key|"
    "access[_ -]?token|refresh[_ -]?token|api[_ -]?token|auth[_ -]?token|session[_ -]?token|"
    "secret[_ -]?access[_ -]?key|mot de passe|contraseña|contrasena|senha|hasło|wachtwoord|lösenord|salasana|"
    "heslo|jelszó|jelszo|şifre|пароль|adgangskode|kodeord|passord|lozinka|geslo|parola|parool|wagwoord|"
    "slaptažodis|slaptazodis|lykilorð|kata ?sandi|mật khẩu|mat khau|"
    "密码|密碼|パスワード|비밀번호|סיסמה|รหัสผ่าน)"
)
# Names that things have, too, so that the value is a random one.
_WEAK_NAMES = "(?:secret|token|pass)"
# A name after other letters begins with a capital: dbPassword. An option may have its value after a space.
_ASSIGNED = re.compile(
    rf"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z])|(?=PASSWORD=))(?i:{_NAMES})"
    r"(?:[\"']?\s{0,4}(?P<sign>=>|:=|[=:\uff1a])\s{0,4}|(?<=--password)\s|(?<=secret_access_key)\s{1,9})"
    r"(?:\"(?P<double>[^\"\n]{4,500})\"|'(?P<single>[^'\n]{4,500})'|(?P<bare>[^\s\"',;&<>{}]{4,500}))"
)
_WEAKLY_ASSIGNED = re.compile(
    rf"(?<![A-Za-z:])(?:(?:[A-Za-z0-9]{{1,30}}_){{0,4}}(?i:{_WEAK_NAMES})[\"']?\s?[=:]\s?|(?i:{_NAMES}"
    rf"|{_WEAK_NAMES}) "
    r"(?:is|ist|est|es|è|é|jest|är|on)(?::| ) ?)[\"']?(?P<value>[^\s\"',;&<>{}()\[\]]{6,500})"
)
# What a login file has after the name of a machine (.netrc).
_NETRC = re.compile(r"(?<!\w)login\s{1,9}\S{1,100}\s{1,9}password\s{1,9}(\S{4,200})")
# The user of a command such as curl.
_OPTION = re.compile(r"(?<!\S)(?:-u|--user)[ =][\"']?[\w.@+-]{1,80}:([^\s\"']{4,200})")
# A user of a database, and the option of its client.
_IDENTIFIED = re.compile(r"(?i:\bidentified(?: with [\w']{1,40})? by) ['\"]([^'\"\s]{4,200})['\"]")
_SHORT_OPTION = re.compile(
    r"(?:\bmysql\w{0,8}|\bmariadb\S{0,8}|\bsshpass)(?: -{1,2}\S+(?: [^-\s]\S*)?){0,6} -p ?([^\s\"']{4,200})"
)
_OPTIONS = (("-u", _OPTION), (" -p", _SHORT_OPTION))
_PROSE = re.compile(r"[A-Za-z][a-z]+[.!?)]*")  # `password: string`, `invalid password: user not found`
_CALL = re.compile(r"[A-Za-z_][\w.]*[\[(][\w.\[\]]*\)*")  # `read(prompt`, of which a comma may be the next
_SENTENCE = re.compile(r"\w[^\n]*?(?: [^\n ]+){3,}[.!?]|\w\S*(?: \S+){7,}")
_PATH = re.compile(r"[~.]?(?:/[\w.+-]+){2,}/?")  # $PWD
# `os.environ["X"]`, `process.env.DB_PASSWORD`, `Optional[str]`, `getPassword()`, `_API_KEYS`
_CODE = re.compile(
    r"\w+(?:\.\w+)+[\[(].*"
    r"|[A-Za-z_]\w*\(\)|(?:Optional|Union|List|Dict|Set|Tuple|Sequence|list|dict|set|tuple|Option|Vec)[\[<].*"
    r"|_*[A-Z]+(?:_[A-Z]+)+|\*(?:mut|const)|None[,)].*|(?:u?int|[iuf])\d{1,3}\)*"
    r"|(?:process\.env|import\.meta|env|os|self|this|config|settings|options|args|props|form|req|request"
    r"|params)"
    r"(?:\.[A-Za-z_]\w*)+",
    re.DOTALL,
)
_VARIABLE = re.compile(rf"(?i:[\w.]*?{_NAMES})(?:\.[a-z]\w*)*\)*")  # `password=password.value`
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
# Parts of what the patterns find, so that most texts are searched by none of them.
_BY_MARK = {mark: number for number, (_, marks, _) in enumerate(_FORMS) for mark in marks}
_WORDS_OF_SECRETS = (
    "pass", "pwd", "secret", "api", "token", "wort", "woord", "contrase", "senha", "haslo", "hasło", "senord",
    "salasana", "heslo", "jelsz", "ifre", "парол", "kode", "kodeord", "lozink", "geslo", "parol", "slapta",
    "lykilor", "sandi", "khau", "khẩu", "密", "パスワード", "비밀번호", "סיסמ", "รหัสผ่าน",
)  # fmt: skip
_LONGEST = 8_000  # characters of a password by its field's name
_SHORTEST = 4
_NO_SECRETS = frozenset(
    {
        "null",
        "none",
        "true",
        "false",
        "hidden",
        "redacted",
        "masked",
        "unset",
        "required",
        "undefined",
        "expired",
        "invalid",
        "missing",
        "string",
        "changed",
        "match",
        "mismatch",
        "matched",
        "reset",
        "forgot",
        "forgotten",
        "weak",
        "strong",
        "medium",
        "valid",
        "policy",
        "enabled",
        "disabled",
        "prompt",
        "keychain",
        "vault",
        "ldap",
        "oauth",
        "oauth2",
        "saml",
        "basic",
        "bearer",
        "bcrypt",
        "scrypt",
        "argon2",
        "argon2id",
        "pbkdf2",
        "md5",
        "sha1",
        "sha256",
        "sha-256",
        "sha512",
        "sha-512",
        "text",
        "plain",
        "plaintext",
        "encrypted",
        "hashed",
        "keyword",
        "varchar",
        "provided",
        "present",
        "absent",
        "updated",
        "success",
        "failed",
        "failure",
        "incorrect",
        "wrong",
        "rotated",
        "revoked",
        "renewed",
        "active",
        "inactive",
        "pending",
        "locked",
        "unlocked",
        "compromised",
        "leaked",
        "generated",
        "stored",
        "saved",
        "cleared",
        "deleted",
        "removed",
        "added",
        "verified",
        "unverified",
        "optional",
        "allowed",
        "denied",
        "rejected",
        "accepted",
        "protected",
        "temporary",
        "permanent",
        "automatic",
        "unknown",
        "await",
        "lambda",
        "input",
        "function",
        "bytes",
    }
)
# Where a secret is, and not the secret.
_REFERENCE = re.compile(
    r"(?:file|vault|env|ssm|op|arn|secretref|keyvault|kms|sops):\S+|projects/\S+/secrets/\S+", re.IGNORECASE
)
_SHORTEST_RANDOM, _SHORTEST_TOKEN = 6, 16
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[!-~]+")
_WORDS = re.compile(
    r"[A-Za-z]+(?:[-_.][A-Za-z]+)*[-_.]?\d{0,4}|v?\d[\d.]*[a-z]?|\d{1,4}[-/.]\d{1,2}[-/.]\d.*|[\w.-]*[/:@].*"
)
_PLACEHOLDER = re.compile(r"[$%#]?[{<\[(].*[}>\])]|\$\w+-?|%\w+%|@[\w.]+@|\*+|\.+|-+", re.DOTALL)


def credentials(text: str, has_tag: Callable[[int, str], bool], is_field: bool) -> Iterator[Hit]:
    """Yield the credentials in a text. `is_field`: it is the whole value of a field with a name."""
    found = _formed(text)
    if has_tag(0, "aws_secret"):
        found = chain(found, _aws_secrets(text))
    is_secret = (
        is_field
        and len(text) <= _LONGEST
        and (
            (has_tag(-1, "password") and _is_secret(text) and not _is_about_passwords(text))
            or (has_tag(-1, "maybe_password") and _is_random(text, _SHORTEST_RANDOM))
            or (has_tag(-1, "token") and _is_random(text, _SHORTEST_TOKEN))
            or (has_tag(-1, "authorization") and _is_login(text))
        )
    )
    if is_secret:
        # Redaction leaves no part of it, whatever form another part has.
        best = next(found, Hit(0, 0, Kind.CREDENTIAL, Confidence.LIKELY, "password"))
        yield best._replace(start=0, end=len(text))
    else:
        yield from found


def _aws_secrets(text: str) -> Iterator[Hit]:
    for found in _AWS_SECRET.finditer(text):
        yield _hit(found, 0, "AWS secret key", Confidence.SURE)


def _formed(text: str) -> Iterator[Hit]:
    for number in sorted({_BY_MARK[mark] for mark in _BY_MARK if mark in text}):
        form, _, pattern = _FORMS[number]
        for found in pattern.finditer(text):
            yield _hit(found, 0, form, Confidence.SURE)
    plain = text.lower()
    yield from _tokens(text, plain)
    if "://" in text and "@" in text:
        yield from _passwords(text, _URL, "password in a URL", Confidence.SURE)
    for mark, option in _OPTIONS:
        if mark in text:
            yield from _given(text, option)
    if "identified" in plain:
        yield from _passwords(text, _IDENTIFIED)
    if any([word in plain for word in _WORDS_OF_SECRETS]):  # noqa: C419  a list is faster here
        yield from _assigned(text)
        yield from _weakly_assigned(text)
        yield from _passwords(text, _NETRC)


def _passwords(
    text: str, pattern: re.Pattern[str], form: str = "password", confidence: Confidence = Confidence.LIKELY
) -> Iterator[Hit]:
    """Yield the first groups of a pattern that may be secrets."""
    for found in pattern.finditer(text):
        if _is_secret(found[1]):
            yield _hit(found, 1, form, confidence)


def _given(text: str, option: re.Pattern[str]) -> Iterator[Hit]:
    """Yield what an option of a command has, if it looks random: a group may be there, too."""
    for found in option.finditer(text):
        if _is_random(found[1], _SHORTEST_RANDOM):
            yield _hit(found, 1, "password", Confidence.LIKELY)


def _assigned(text: str) -> Iterator[Hit]:
    """Yield what names of passwords have."""
    for found in _ASSIGNED.finditer(text):
        group = found.lastgroup or ""
        is_prose = found["sign"] == ":" and _PROSE.fullmatch(found[group])
        is_prose = group == "bare" and (is_prose or _CALL.fullmatch(found[group]))
        if _is_secret(found[group]) and not is_prose:
            yield _hit(found, group, "password", Confidence.LIKELY)


def _weakly_assigned(text: str) -> Iterator[Hit]:
    """Yield what names such as `token` have, if it looks random."""
    for found in _WEAKLY_ASSIGNED.finditer(text):
        name = text[found.start() : found.start("value")].lower()
        is_token = "secret" in name or "token" in name
        if _is_random(found["value"], _SHORTEST_TOKEN if is_token else _SHORTEST_RANDOM):
            yield _hit(found, "value", "password", Confidence.LIKELY)


def _tokens(text: str, plain: str) -> Iterator[Hit]:
    """Yield tokens with their scheme. `plain` is the text in lower case."""
    for mark, pattern, group, is_token, form, confidence in _SCHEMES:
        if mark in plain:
            for found in pattern.finditer(text):
                if is_token(found[1]):
                    yield _hit(found, group, form, confidence)


def _hit(found: re.Match[str], group: int | str, form: str, confidence: Confidence) -> Hit:
    return Hit(found.start(group), found.end(group), Kind.CREDENTIAL, confidence, form)


def _is_jose(text: str) -> bool:
    """Return whether a text is the header of a JWT (RFC 7519)."""
    try:
        header = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, Error, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "enc" in header)


def _is_basic(text: str) -> bool:
    try:
        plain = b64decode(text + "=" * (-len(text) % 4)).decode("utf-8")
    except (ValueError, Error):
        return False
    return plain.find(":") > 0 and plain.isprintable()


def _is_secret(text: str) -> bool:
    """Return whether a text may be a secret, and not a placeholder for one."""
    plain = text.strip()
    if _SENTENCE.fullmatch(plain) or len(plain) < _SHORTEST or plain.lower().rstrip(")") in _NO_SECRETS:
        return False
    return not any(
        pattern.fullmatch(plain) for pattern in (_PLACEHOLDER, _PATH, _CODE, _VARIABLE, _REFERENCE, _MOMENT)
    )


def _is_about_passwords(text: str) -> bool:
    """Return whether a text is what an application shows next to a field: `Passwort eingeben`."""
    return " " in text and text.count(" ") < 8 and "password" in of_context(text).tags


def _is_random(text: str, shortest: int) -> bool:
    """Return whether a text may be a secret by its characters alone: letters and digits, and neither words, a
    version, a date, an address nor an id.
    """
    plain = text.strip()
    if len(plain) < shortest or not _RANDOM.fullmatch(plain) or not _is_secret(plain):
        return False
    return not _WORDS.fullmatch(plain) and not _UUID.fullmatch(plain)


def _is_login(text: str) -> bool:
    """Return whether a text is a user and a password in base64, as files of Docker have them."""
    return _BASE64.fullmatch(text.strip()) is not None and _is_basic(text.strip())


def _is_long_random(text: str) -> bool:
    return _is_random(text, _SHORTEST_TOKEN)


# Letters of a form, its pattern and the group of the token, what it must be, and how sure that is.
_SCHEMES = (
    ("eyj", _JWT, 0, _is_jose, "JWT", Confidence.SURE),
    ("bearer", _BEARER, 1, _is_secret, "bearer token", Confidence.LIKELY),
    ("authorization", _SCHEME, 1, _is_long_random, "token", Confidence.LIKELY),
    ("basic", _BASIC, 1, _is_basic, "basic authentication", Confidence.SURE),
)
