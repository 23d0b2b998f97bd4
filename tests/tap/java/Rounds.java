import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Writes --count records to a topic of each of the --rounds, files of properties, and reads them back; says for each how that went. */
public final class Rounds implements Action {
    @Override
    public void run(Options options) throws Exception {
        for (String path : options.text("rounds", "").split(",")) {
            Properties properties = new Properties();
            try (InputStream file = new FileInputStream(path)) {
                properties.load(file);
            }
            String topic = (String) properties.remove("topic");
            try {
                write(options, properties, topic);
                Say.event("round", "path", path, "read", read(options, properties, topic), "problem", "");
            } catch (Throwable problem) {
                Throwable cause = problem;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                Say.event("round", "path", path, "read", 0, "problem", cause.toString());
            }
        }
    }

    private static void write(Options options, Properties given, String topic) throws Exception {
        Properties properties = Produce.properties(options);
        properties.put("max.block.ms", "15000");
        properties.putAll(given);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            for (int number = 0; number < options.number("count", 10); number++) {
                byte[] value = new byte[100 + number * 700];
                Arrays.fill(value, (byte) number);
                producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
            }
        }
    }

    private static int read(Options options, Properties given, String topic) throws Exception {
        Properties properties = Consume.properties(options);
        properties.put("auto.offset.reset", "earliest");
        properties.putAll(given);
        int count = 0;
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        try {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(Collections.singletonList(partition));
            for (long end = System.nanoTime() + 15_000_000_000L; count < options.number("count", 10) && System.nanoTime() < end;) {
                for (ConsumerRecord<byte[], byte[]> record : Consume.poll(consumer)) {
                    count += record.value()[record.value().length - 1] == (byte) count ? 1 : 0;
                }
            }
        } finally {
            consumer.close();
        }
        return count;
    }
}
