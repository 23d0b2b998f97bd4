"""Mutators of SASL: what may be sent when, on connections that authenticate."""

import random
from collections.abc import Iterator

from tests.mutation.corpus import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Recording,
    Scene,
    Side,
    opening,
    side_of,
)
from tests.mutation.families.order_of_lines import SECOND, later, shuffled
from tests.mutation.mutators import MANY, Mutant, mutator
from tests.mutation.talk import Talk
from tests.support.messages.traffic import BROKER, CLIENT

REFUSED = 58  # SASL_AUTHENTICATION_FAILED


def logins(rng: random.Random) -> Iterator[tuple[Recording, Scene]]:
    """Yield connections that authenticate once with requests, up to the second request after it.

    The scene's target is the handshake.
    """
    for recording in shuffled(rng):
        handshakes, tokens = recording.of(SASL_HANDSHAKE), recording.of(SASL_AUTHENTICATE)
        end = opening(recording)
        complete = all(exchange.response is not None for exchange in recording.exchanges[: end + 2])
        if (
            len(handshakes) == 1
            and tokens
            and max(tokens) < end
            and len(recording.exchanges) > end
            and complete
        ):
            yield recording, Scene(recording.capture, recording.exchanges[: end + 2], handshakes[0])


def without(talk: Talk, *exchanges: int) -> Talk:
    """Return a talk in which exchanges never took place."""
    talk.lines = [line for line in talk.lines if line.exchange not in exchanges]
    return talk


@mutator("mechanism-in-clear", "SAS001", "PLAIN and OAUTHBEARER show credentials")
def _plain(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a client that used SCRAM names PLAIN."""
    for _, scene in logins(rng):
        body = side_of(scene, CLIENT)
        if body is not None and body.value().mechanism.startswith("SCRAM"):
            value = body.value()
            value.mechanism = "PLAIN"
            yield Mutant(scene, body.talk(body.encoded(value)))


@mutator(
    "request-before-authentication",
    "SAS002",
    "until authentication is over only SASL requests are sent",
    MANY,
)
def _too_early(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the client leaves its tokens out."""
    for recording, scene in logins(rng):
        tokens = recording.of(SASL_AUTHENTICATE)
        if any(index > tokens[0] for index in recording.of(API_VERSIONS)):
            continue  # SAS009 speaks of those
        first = opening(recording)  # the request behind the login; its place is that many exchanges earlier
        yield Mutant(scene, without(scene.talk(), *tokens), first - len(tokens))


@mutator(
    "handshake-twice", "SAS003", "a second handshake waits for the end of the first authentication", MANY
)
def _handshake_twice(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in logins(rng):
        talk = scene.talk()
        request, response = talk.line(scene.target, CLIENT), talk.line(scene.target, BROKER)
        talk.insert_behind(response, request.copy())
        talk.lines.insert(talk.lines.index(response) + 2, response.copy())
        yield Mutant(scene, talk, scene.target + 1)


@mutator("no-handshake", "SAS004", "SaslAuthenticate follows a SaslHandshake", MANY)
def _no_handshake(rng: random.Random) -> Iterator[Mutant]:
    for recording, scene in logins(rng):
        first = recording.of(SASL_AUTHENTICATE)[0]
        yield Mutant(scene, without(scene.talk(), scene.target), first - 1)


@mutator("handshake-v0", "SAS005", "after SaslHandshake v0 tokens travel in raw frames", MANY)
def _raw(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the handshake says version 0, and SaslAuthenticate follows all the same."""
    for recording, scene in logins(rng):
        body = side_of(scene, CLIENT)
        if body is not None and body.version == 1:
            first = recording.of(SASL_AUTHENTICATE)[0]
            yield Mutant(scene, body.talk(body.spliced(2, 4, b"\0\0")), first)


@mutator("mechanism-changed", "SAS006", "re-authentication keeps the mechanism")
def _other_mechanism(rng: random.Random) -> Iterator[Mutant]:
    for scene in again(rng):
        body = side_of(scene, CLIENT)
        assert body is not None
        value = body.value()
        value.mechanism = "SCRAM-SHA-512" if value.mechanism != "SCRAM-SHA-512" else "SCRAM-SHA-256"
        yield Mutant(scene, body.talk(body.encoded(value)), scene.target)


def again(rng: random.Random) -> Iterator[Scene]:
    """Yield connections that authenticated twice, up to the request after it; the target is the last
    handshake.
    """
    for recording in shuffled(rng):
        handshakes, both = recording.of(SASL_HANDSHAKE), recording.of(SASL_HANDSHAKE, SASL_AUTHENTICATE)
        if len(handshakes) > 1 and not any(_error(recording, index) for index in both):
            scene = Scene(recording.capture, recording.exchanges[: both[-1] + 2], handshakes[-1])
            if side_of(scene, CLIENT) is not None:
                yield scene


def _error(recording: Recording, index: int) -> int:
    """Return the error code of a SASL answer, -1 without one."""
    exchange = recording.exchanges[index]
    return -1 if exchange.response is None else int(exchange.response_body().error_code)


def _last_answer(recording: Recording, scene: Scene) -> Side | None:
    return side_of(scene._replace(target=recording.of(SASL_AUTHENTICATE)[-1]), BROKER)


@mutator("session-expired", "SAS007", "a client authenticates again before its session ends")
def _expired(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the session lives half a second, and the next request comes two
    seconds later.
    """
    for recording, scene in logins(rng):
        body = _last_answer(recording, scene)
        if body is not None and body.version > 0 and not body.value().error_code:
            value = body.value()
            value.session_lifetime_ms = 500
            talk = scene.talk().replace(recording.of(SASL_AUTHENTICATE)[-1], BROKER, body.encoded(value))
            following = opening(recording)
            later(talk, talk.line(following, CLIENT), 2 * SECOND)
            yield Mutant(scene, talk, following)


@mutator("used-after-failure", "SAS008", "a connection ends when authentication fails", MANY)
def _after_failure(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the broker refuses the last token, and the client goes on."""
    for recording, scene in logins(rng):
        body = _last_answer(recording, scene)
        if body is not None and not body.value().error_code:
            value = body.value()
            value.error_code, value.error_message = REFUSED, "no"
            talk = scene.talk().replace(recording.of(SASL_AUTHENTICATE)[-1], BROKER, body.encoded(value))
            yield Mutant(scene, talk, opening(recording))
