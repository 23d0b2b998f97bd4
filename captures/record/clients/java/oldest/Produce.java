import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * Sends --count records to --topic (--partition); keys are the number modulo --keys; values say which record they are, or with
 * --orders true are orders in JSON. With --pace it rests that many milliseconds after each.
 */
public final class Produce implements Action {
    @Override
    public void run(Options options) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties(options))) {
            send(producer, options, options.text("prefix", "value"));
        }
    }

    static Properties properties(Options options) {
        Properties properties = options.client();
        properties.putIfAbsent("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.putIfAbsent("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.putIfAbsent("linger.ms", "50");
        return properties;
    }

    /** Send and wait for every answer; says each record with the offset it got (-1 with acks 0). */
    static void send(KafkaProducer<byte[], byte[]> producer, Options options, String prefix) throws Exception {
        String topic = options.text("topic", "topic");
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        for (int number = 0; number < options.number("count", 5); number++) {
            ProducerRecord<byte[], byte[]> record = record(topic, number, options, prefix);
            Headers.decorate(record, number, options);
            records.add(record);
            answers.add(producer.send(record));
            Thread.sleep(options.number("pace", 0));
        }
        for (int at = 0; at < answers.size(); at++) {
            try {
                RecordMetadata got = answers.get(at).get();
                ProducerRecord<byte[], byte[]> sent = records.get(at);
                Say.event("sent", "topic", topic, "partition", got.partition(), "offset", got.offset(), "key", sent.key(),
                        "value", sent.value(), "headers", Headers.of(sent), "timestamp", Headers.timestamp(sent));
            } catch (Exception problem) {
                Say.error("produce " + topic, problem);
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, int number, Options options, String prefix) {
        Integer partition = options.number("partition", -1) < 0 ? null : options.number("partition", 0);
        byte[] key = ("key-" + number % options.number("keys", 3)).getBytes(StandardCharsets.US_ASCII);
        if (options.flag("no-keys")) {
            key = null;
        }
        return Headers.record(topic, partition, key, value(number, options, prefix), number + options.number("later", 0));
    }

    private static byte[] value(int number, Options options, String prefix) {
        if (options.flag("tombstones") && number % 2 == 1) {
            return null;
        }
        if (options.flag("orders")) {
            return order(number).getBytes(StandardCharsets.US_ASCII);
        }
        StringBuilder text = new StringBuilder(prefix + "-" + number);
        while (text.length() < options.number("size", 0)) {
            text.append('.');
        }
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static String order(int number) {
        Random random = new Random(number);
        String[] states = {"created", "paid", "packed", "shipped", "returned"};
        StringBuilder items = new StringBuilder();
        for (int item = random.nextInt(3); item >= 0; item--) {
            items.append(items.length() == 0 ? "" : ",").append("{\"sku\":\"SKU-").append(random.nextInt(5000))
                    .append("\",\"quantity\":").append(1 + random.nextInt(9)).append(",\"price\":").append(random.nextInt(20_000)).append('}');
        }
        return "{\"order_id\":" + (100_000 + number) + ",\"customer\":\"c-" + Integer.toHexString(random.nextInt())
                + "\",\"state\":\"" + states[random.nextInt(states.length)] + "\",\"currency\":\"EUR\",\"items\":[" + items + "]}";
    }
}
