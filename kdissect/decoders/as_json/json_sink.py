"""Decoded values as dicts ready for JSON."""

from kdissect.decoders.as_json import jsonable
from kdissect.decoders.generated.emitter import Emitter
from kdissect.decoders.generated.sinks import ObjectSink, element_of
from kdissect.schema.secrets import MASK, conceal, has_config_values
from kdissect.schema.types import Field, Primitive, Struct


class JsonSink(ObjectSink):
    """Values become dicts by the JSON rules of `jsonable`, without objects in between."""

    def __init__(self, lenient: bool, show_secrets: bool) -> None:
        super().__init__(lenient)
        self.show_secrets = show_secrets

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """A new dict."""
        name = emitter.fresh("o")
        emitter.emit(f"{target + ' = ' if target else ''}{name} = {{}}")
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """The dict's key."""
        return f'{owner}["{field.name}"]'

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """UUIDs and floats are no JSON as they are."""
        if self._is_masked(field):
            emitter.emit(f'{target} = "{MASK}"')
        elif field.type is Primitive.UUID:
            emitter.names["uuid_text"] = jsonable.uuid_text
            emitter.emit(f"{target} = uuid_text({target})")
        elif field.type is Primitive.FLOAT64:
            emitter.names["float_value"] = jsonable.float_value
            emitter.emit(f"{target} = float_value({target})")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """A str, or base64 if lenient and not UTF-8."""
        emitter.names["text"] = jsonable.text_value
        value = f"text(b[{start}:{stop}])" if self.lenient else f"b[{start}:{stop}].decode()"
        emitter.emit(f"{target} = {self._masked(field, value)}")

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Base64; of records only the number of bytes."""
        if field.type is Primitive.RECORDS:
            value = f'{{"bytes": {stop} - ({start})}}'
        else:
            emitter.names["base64"] = jsonable.bytes_value
            value = f"base64(b[{start}:{stop}])"
        emitter.emit(f"{target} = {self._masked(field, value)}")

    def _is_masked(self, field: Field) -> bool:
        return field.is_secret and not self.show_secrets

    def _masked(self, field: Field, value: str) -> str:
        return f'"{MASK}"' if self._is_masked(field) else value

    def _numbers(self, emitter: Emitter, field: Field, count: str, start: str) -> str:
        numbers = super()._numbers(emitter, field, count, start)
        element = element_of(field)
        if element is Primitive.UUID:
            emitter.names["uuid_text"] = jsonable.uuid_text
            return f"[uuid_text(i) for i in {numbers}]"
        if element is Primitive.FLOAT64:
            emitter.names["float_value"] = jsonable.float_value
            return f"[float_value(i) for i in {numbers}]"
        return numbers

    def end(self, emitter: Emitter, of: Struct, owner: str) -> None:
        """Configs: only the whole struct tells whether its value is a password."""
        if self.show_secrets or not has_config_values(of.fields):
            return
        emitter.flush()
        emitter.names["conceal"] = conceal
        emitter.emit(f"conceal({owner}, {emitter.constant('f', of.fields)})")

    def unknown_tag(self, emitter: Emitter, owner: str) -> None:
        """Kept under `_tags`, keyed by text as JSON wants it."""
        emitter.names["base64"] = jsonable.bytes_value
        emitter.emit(f'{owner}.setdefault("_tags", {{}})[str(t)] = base64(b[p:p + k])')

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """Kept under `_tags`."""
        emitter.names["keep_tags"] = jsonable.keep_tags
        return f"p = keep_tags({owner}, b, {start})"
