import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Headers and timestamps of records, for clients that have them (0.11 and 0.10) and those that have not. */
final class Headers {
    private static final long EPOCH = 1_760_000_000_000L; // a fixed day, so that truths are the same every time

    private Headers() {}

    static ProducerRecord<byte[], byte[]> record(String topic, Integer partition, byte[] key, byte[] value, int second) {
        try {
            return (ProducerRecord<byte[], byte[]>) ProducerRecord.class
                    .getConstructor(String.class, Integer.class, Long.class, Object.class, Object.class)
                    .newInstance(topic, partition, EPOCH + 1000L * second, key, value);
        } catch (ReflectiveOperationException absent) {
            return new ProducerRecord<>(topic, partition, key, value); // before 0.10
        }
    }

    /** With --headers true every other record gets two headers, one without a value. */
    static void decorate(ProducerRecord<byte[], byte[]> record, int number, Options options) throws Exception {
        if (!options.flag("headers") || number % 2 == 1) {
            return;
        }
        Object headers = ProducerRecord.class.getMethod("headers").invoke(record);
        Method add = Class.forName("org.apache.kafka.common.header.Headers").getMethod("add", String.class, byte[].class);
        add.invoke(headers, "trace", ("t" + number).getBytes(StandardCharsets.US_ASCII));
        add.invoke(headers, "empty", null);
    }

    /** The headers of a record as [key, value] pairs; empty where the client knows none. */
    static List<Object> of(Object record) {
        List<Object> out = new ArrayList<>();
        try {
            Object headers = record.getClass().getMethod("headers").invoke(record);
            for (Object header : (Iterable<?>) headers) {
                Class<?> kind = Class.forName("org.apache.kafka.common.header.Header");
                out.add(Arrays.asList(kind.getMethod("key").invoke(header), kind.getMethod("value").invoke(header)));
            }
        } catch (ReflectiveOperationException absent) {
            return out;
        }
        return out;
    }

    static Object timestamp(Object record) {
        try {
            return record.getClass().getMethod("timestamp").invoke(record);
        } catch (ReflectiveOperationException absent) {
            return null; // before 0.10
        }
    }
}
