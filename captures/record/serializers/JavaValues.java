import com.amazonaws.services.schemaregistry.deserializers.protobuf.ProtobufWireFormatDecoder;
import com.amazonaws.services.schemaregistry.serializers.protobuf.MessageIndexFinder;
import com.amazonaws.services.schemaregistry.serializers.protobuf.ProtobufWireFormatEncoder;
import com.amazonaws.services.schemaregistry.utils.ProtobufMessageType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.resolver.ParsedSchema;
import io.apicurio.registry.resolver.ParsedSchemaImpl;
import io.apicurio.registry.resolver.SchemaLookupResult;
import io.apicurio.registry.resolver.SchemaParser;
import io.apicurio.registry.resolver.SchemaResolver;
import io.apicurio.registry.resolver.client.RegistryClientFacade;
import io.apicurio.registry.resolver.data.Record;
import io.apicurio.registry.resolver.strategy.ArtifactReference;
import io.apicurio.registry.resolver.strategy.ArtifactReferenceResolverStrategy;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.kafka.KafkaDeserializer;
import io.apicurio.registry.serde.kafka.KafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Conversions;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import shop.TripOuterClass;
import shop.TripOuterClass.Cart;
import shop.TripOuterClass.Trip;

/** Prints records of Apicurio's serializers and AWS Glue's, each with the value that its deserializer reads, a JSON object a line. */
public class JavaValues {
    static final ObjectMapper JSON = new ObjectMapper();
    static final UUID GLUE_ID = UUID.fromString("6f3a2b1c-4d5e-4f60-8a7b-9c0d1e2f3a4b");
    static final long GLOBAL_ID = 4711, CONTENT_ID = 70;
    static final String[][] FORMS = {
        {"content4", "apicurio.registry.use-id", "contentId"},
        {"global4", "apicurio.registry.use-id", "globalId"},
        {"global8", "apicurio.registry.use-id", "globalId",
            "apicurio.registry.id-handler", "io.apicurio.registry.serde.Legacy8ByteIdHandler"},
        {"headers", "apicurio.registry.use-id", "contentId", "apicurio.registry.headers.enabled", "true"},
        {"headers-g", "apicurio.registry.use-id", "globalId", "apicurio.registry.headers.enabled", "true"},
    };

    /** A registry with one schema. */
    static class OneSchema<S, D> implements SchemaResolver<S, D> {
        final byte[] text;
        final long number;
        SchemaParser<S, D> parser;

        OneSchema(byte[] text, long number) {
            this.text = text;
            this.number = number;
        }

        public void configure(Map<String, ?> configs, SchemaParser<S, D> parser) { this.parser = parser; }
        public void setClientFacade(RegistryClientFacade facade) { }
        public void setArtifactResolverStrategy(ArtifactReferenceResolverStrategy<S, D> strategy) { }
        public SchemaParser<S, D> getSchemaParser() { return parser; }
        public void reset() { }
        public void close() { }

        public SchemaLookupResult<S> resolveSchema(Record<D> record) { return found(); }

        public SchemaLookupResult<S> resolveSchemaByArtifactReference(ArtifactReference reference) {
            Long content = reference.getContentId(), global = reference.getGlobalId();
            boolean isRight = content != null ? content == CONTENT_ID + number : global == GLOBAL_ID + number;
            if (!isRight) throw new IllegalStateException("another id: " + reference);
            return found();
        }

        SchemaLookupResult<S> found() {
            ParsedSchema<S> parsed = new ParsedSchemaImpl<S>().setParsedSchema(parser.parseSchema(text, Map.of()))
                .setRawSchema(text).setSchemaReferences(List.of());
            return SchemaLookupResult.<S>builder().parsedSchema(parsed)
                .globalId(GLOBAL_ID + number).contentId(CONTENT_ID + number)
                .groupId("default").artifactId("a").version("1").build();
        }
    }

    interface Plain { JsonNode of(Object value) throws Exception; }

    static <S, D> void write(
        String topic, OneSchema<S, D> schema, KafkaSerializer<S, D> serializer, KafkaDeserializer<S, D> deserializer,
        String[] form, Plain plain, List<D> messages, String... more
    ) throws Exception {
        Map<String, Object> conf = new HashMap<>();
        for (int at = 1; at < form.length; at += 2) conf.put(form[at], form[at + 1]);
        for (int at = 0; at < more.length; at += 2) conf.put(more[at], more[at + 1]);
        serializer.setSchemaResolver(schema);
        deserializer.setSchemaResolver(schema);
        serializer.configure(conf, false);
        deserializer.configure(conf, false);
        for (D message : messages) {
            RecordHeaders headers = new RecordHeaders();
            byte[] value = serializer.serialize(topic, headers, message);
            ObjectNode out = JSON.createObjectNode().put("topic", topic + "-" + form[0]);
            out.put("value", Base64.getEncoder().encodeToString(value));
            ArrayNode listed = out.putArray("headers");
            for (Header header : headers)
                listed.addArray().add(header.key()).add(Base64.getEncoder().encodeToString(header.value()));
            out.set("read", plain.of(deserializer.deserialize(topic, headers, value)));
            System.out.println(JSON.writeValueAsString(out));
        }
    }

    /** A value of Avro as docs/schemas.md writes it. */
    static JsonNode ofAvro(Schema schema, Object value) {
        if (schema.isUnion()) return ofAvro(schema.getTypes().get(GenericData.get().resolveUnion(schema, value)), value);
        if (value == null) return JSON.nullNode();
        if (schema.getLogicalType() instanceof LogicalTypes.Decimal) {
            BigDecimal number = new Conversions.DecimalConversion().fromBytes((ByteBuffer) value, schema, schema.getLogicalType());
            return JSON.getNodeFactory().textNode(number.toPlainString());
        }
        switch (schema.getType()) {
            case RECORD: {
                ObjectNode out = JSON.createObjectNode();
                for (Schema.Field field : schema.getFields())
                    out.set(field.name(), ofAvro(field.schema(), ((GenericRecord) value).get(field.pos())));
                return out;
            }
            case ARRAY: {
                ArrayNode out = JSON.createArrayNode();
                for (Object item : (Iterable<?>) value) out.add(ofAvro(schema.getElementType(), item));
                return out;
            }
            case MAP: {
                ObjectNode out = JSON.createObjectNode();
                ((Map<?, ?>) value).forEach((name, item) -> out.set(name.toString(), ofAvro(schema.getValueType(), item)));
                return out;
            }
            case BYTES: {
                byte[] raw = new byte[((ByteBuffer) value).remaining()];
                ((ByteBuffer) value).duplicate().get(raw);
                return JSON.createObjectNode().put("base64", Base64.getEncoder().encodeToString(raw));
            }
            case FIXED:
                return JSON.createObjectNode().put("base64", Base64.getEncoder().encodeToString(((GenericFixed) value).bytes()));
            case STRING: case ENUM:
                return JSON.getNodeFactory().textNode(value.toString());
            default:
                return JSON.valueToTree(value);
        }
    }

    static JsonNode ofProtobuf(Object value) throws Exception {
        return JSON.readTree(JsonFormat.printer().preservingProtoFieldNames().alwaysPrintFieldsWithNoPresence().print((Message) value));
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        byte[] avro = Files.readAllBytes(folder.resolve("parcel.avsc"));
        byte[] json = Files.readAllBytes(folder.resolve("parcel.schema.json"));
        byte[] proto = Files.readAllBytes(folder.resolve("trip.proto"));
        Schema parcel = new Schema.Parser().parse(new String(avro, StandardCharsets.UTF_8));
        for (String[] form : FORMS) {
            write("parcels", new OneSchema<Schema, Object>(avro, 1), new AvroKafkaSerializer<>(),
                new AvroKafkaDeserializer<>(), form, value -> ofAvro(parcel, value), parcels(parcel));
            write("labels", new OneSchema<>(json, 2), new JsonSchemaKafkaSerializer<>(),
                new JsonSchemaKafkaDeserializer<>(), form, value -> JSON.valueToTree(value), labels());
            for (List<Message> messages : trips()) {
                write("trips", new OneSchema<>(proto, 3), new ProtobufKafkaSerializer<Message>(),
                    new ProtobufKafkaDeserializer<Message>(), form, JavaValues::ofProtobuf, messages,
                    "apicurio.registry.serde.validation-enabled", "false");  // it refuses maps
            }
        }
        for (List<Message> messages : trips()) for (Message message : messages) writeGlue(message);
        writeGlue(Cart.Line.newBuilder().setSku("A-2").setCount(7).build());
    }

    /** Messages as AWS Glue's serializer writes them, after the id of a schema version. */
    static void writeGlue(Message message) throws Exception {
        var file = TripOuterClass.getDescriptor();
        byte[] encoded = new ProtobufWireFormatEncoder(new MessageIndexFinder()).encode(message, file);
        byte[] value = ByteBuffer.allocate(18 + encoded.length).put((byte) 3).put((byte) 0)
            .putLong(GLUE_ID.getMostSignificantBits()).putLong(GLUE_ID.getLeastSignificantBits()).put(encoded).array();
        Object read = new ProtobufWireFormatDecoder(new MessageIndexFinder())
            .decode(encoded, file, ProtobufMessageType.DYNAMIC_MESSAGE);
        ObjectNode out = JSON.createObjectNode().put("topic", "trips-glue");
        out.put("value", Base64.getEncoder().encodeToString(value)).putArray("headers");
        out.set("read", ofProtobuf(read));
        System.out.println(JSON.writeValueAsString(out));
    }

    static List<Object> parcels(Schema schema) {
        List<Object> found = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            GenericData.Record parcel = new GenericData.Record(schema);
            parcel.put("id", 1L << (number * 40));
            parcel.put("state", new GenericData.EnumSymbol(schema.getField("state").schema(), number == 0 ? "NEW" : "SENT"));
            parcel.put("fee", new Conversions.DecimalConversion().toBytes(new BigDecimal(number == 0 ? "9.90" : "-0.05"),
                schema.getField("fee").schema(), schema.getField("fee").schema().getLogicalType()));
            parcel.put("weight", 0.1 + number);
            parcel.put("note", number == 0 ? null : "Grüße \"x\"");
            parcel.put("raw", ByteBuffer.wrap(new byte[] {0, -1, (byte) number}));
            parcel.put("labels", Map.of("shop", "north"));
            GenericData.Record inner = number == 0 ? null : (GenericData.Record) found.get(0);
            parcel.put("inside", inner == null ? List.of() : List.of(inner));
            found.add(parcel);
        }
        return found;
    }

    static List<Object> labels() {
        ObjectNode one = JSON.createObjectNode().put("id", 1).put("text", "Grüße");
        return List.of(one, JSON.createObjectNode().put("id", 2).put("text", "").put("weight", 1.5));
    }

    static List<List<Message>> trips() {
        Trip trip = Trip.newBuilder().setId(1L << 60).setPage("/cart").setDeviceValue(1).addTags("a").addTags("b")
            .putCounts("clicks", 4).setCookie(ByteString.copyFrom(new byte[] {0, -1})).setWeight(0.1)
            .setEmail("anna@example.com").build();
        Cart cart = Cart.newBuilder().addLines(Cart.Line.newBuilder().setSku("A-1").setCount(3)).build();
        return List.of(List.of(trip, Trip.getDefaultInstance()), List.of(cart));
    }
}
