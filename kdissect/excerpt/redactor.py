"""Redaction of frames: of secrets, or also of personal data, of payloads, or of names."""

from kdissect.decoders.cursor import encode_uvarint
from kdissect.decoders.records.batch_layout import HEADER_V0, HEADER_V1, HEADER_V2, MAGIC_AT
from kdissect.decoders.trees.masking import may_be_misread
from kdissect.decoders.trees.node import Node
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.secrets.patches import FILLER, Patch
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.engine.secrets.secret_spans import frame_tree, undecoded
from kdissect.excerpt.batch_redaction import Redact, blank_parts, redacted_batch
from kdissect.excerpt.edit import NOTHING, Edit, Redaction
from kdissect.excerpt.field_redaction import FieldRedaction, Level, Names
from kdissect.excerpt.personal_redaction import PersonalRedaction
from kdissect.model.frame import Frame
from kdissect.model.wording import plural
from kdissect.schema.types import Primitive
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.sasl import SASL_AUTHENTICATE

_SIZE_BYTES = 4
_HEADERS = HEADER_V0.size, HEADER_V1.size, HEADER_V2.size
# of a response whose request is unknown: its header begins with it (spec/004 "Response Header")
_CORRELATION_ID = 4


class FrameRedactor:
    """One run. `level` is the name of a `Level`, and `personal` the redaction of level `personal`.

    `undecoded` counts frames with blanked bytes of unknown meaning, `resized` frames with a changed length.
    """

    def __init__(
        self, level: str, names: Names | None = None, personal: PersonalRedaction | None = None
    ) -> None:
        self._level = Level[level.upper()]
        self._personal = personal
        self._names = names or Names()
        self.undecoded = 0
        self.resized = 0

    def __call__(self, exchange: Exchange, side: str) -> Redaction:
        """Return the content to put over one frame of an exchange. Raises no exception."""
        frame = exchange.request if side == "request" else exchange.response
        if frame is None:
            return NOTHING
        # The walk takes all of a token but its form. The code that hides secrets of tokens elsewhere breaks
        # the form.
        is_partial = self._level < Level.PAYLOAD
        tree = frame_tree(exchange, side, frame)
        is_token = _is_sasl(exchange) and exchange.request and tree is not None and not may_be_misread(tree)
        patches = [] if is_token else secret_patches(exchange, side, with_records=is_partial)
        if tree is None:
            self.undecoded += 1
            return Redaction([(_CORRELATION_ID, len(frame.data))])
        unknown = [span for span in undecoded(tree, frame) if span[0] < span[1]]
        of_name = None if self._personal is None else self._personal.name
        fields = FieldRedaction(self._level, frame.data, self._names, of_name)
        fields.walk(tree, in_token=exchange.kind is ExchangeKind.SASL_TOKEN)
        self.undecoded += bool(unknown) or any(node.name == "rest" for node in tree.children)
        made = Redaction([*fields.blanks, *unknown], [*fields.patches, *patches])
        return made if self._level is Level.SECRETS else self._with_records(made, exchange, side, frame, tree)

    def _with_records(
        self, made: Redaction, exchange: Exchange, side: str, frame: Frame, tree: Node
    ) -> Redaction:
        fields = {
            node.children[-1].start: node
            for node in tree.walk()
            if node.field is not None and node.field.type is Primitive.RECORDS and node.children
        }
        patches: list[Patch] = list(made.patches)
        edits: list[Edit] = []
        for records in record_sets(exchange):
            node = fields.pop(records.records_field.start, None)
            if records.is_response == (side == "response") and node is not None:
                redact = blank_parts if self._personal is None else self._personal.of_records(records)
                if redact is not None:
                    _redact_records(records, node, patches, edits, redact)
        blanks = [*made.blanks, *((node.children[-1].start, node.end) for node in fields.values())]
        grown = sum(len(edit.data) - (edit.end - edit.start) for edit in edits)
        note = ""
        if grown:
            self.resized += 1
            patches.append(Patch(-_SIZE_BYTES, (frame.size + grown).to_bytes(_SIZE_BYTES)))
            size = plural(frame.size + grown, "byte")
            what = "its records" if self._personal is None else "personal data"
            note = f"recompressed without {what}: {size} instead of {frame.size}"
        return Redaction(blanks, [patch for patch in patches if patch.data], edits, note)


def _is_sasl(exchange: Exchange) -> bool:
    return exchange.kind is ExchangeKind.SASL_TOKEN or exchange.api_key == SASL_AUTHENTICATE


def _redact_records(
    records: RecordSet, node: Node, patches: list[Patch], edits: list[Edit], redact: Redact
) -> None:
    at, grown = records.records_field.start, 0
    for batch in records.found.batches:
        if batch.start < at:  # it lies in another one, which is blanked
            continue
        patches.append(Patch(at, FILLER * (batch.start - at)))
        shown = redacted_batch(batch, redact)
        if shown is not None and len(shown) == batch.size:
            patches.append(Patch(batch.start, shown))
        elif shown is not None:
            edits.append(Edit(batch.start + _SIZE_BYTES, batch.end + _SIZE_BYTES, shown))
            grown += len(shown) - batch.size
        at = batch.end
    kept = at + _header_bytes(records, at)
    patches.append(Patch(kept, FILLER * (records.end - kept)))
    if grown:
        length = node.children[0]
        size = records.records_field.end - records.records_field.start + grown
        data_of_length = size.to_bytes(4) if length.type == "int32" else encode_uvarint(size + 1)
        edits.append(Edit(length.start + _SIZE_BYTES, length.end + _SIZE_BYTES, data_of_length))
        edits.sort()


def _header_bytes(records: RecordSet, at: int) -> int:
    """Return how many of the bytes after the last batch are the header of a batch that was cut."""
    is_aligned = bool(records.found.batches) or not records.records_field.position  # a piece begins anywhere
    left = records.end - at
    if not records.found.cut or not is_aligned:
        return 0
    if left <= MAGIC_AT:
        return left
    magic = records.frame.data[at + MAGIC_AT]
    return min(_HEADERS[magic], left) if magic < len(_HEADERS) else 0
