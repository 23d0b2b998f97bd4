import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Writes --count records to --topic, one each --every milliseconds, and says when it called send for each. With
 * --transaction that many records are a transaction, which is committed --hold milliseconds after its last record;
 * each transaction whose number --abort divides is aborted instead. --warm records to TOPIC-warm come first.
 */
public final class TimedWrite implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = Produce.properties(options);
        int size = options.number("transaction", 0);
        if (size > 0) {
            properties.put("transactional.id", options.text("client-id", "timed"));
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        if (size > 0) {
            producer.initTransactions();
        }
        String topic = options.text("topic", "topic");
        producer.partitionsFor(topic);
        warm(producer, topic + "-warm", options, size > 0);
        int count = options.number("count", 100);
        for (int number = 0; number < count; number++) {
            if (size > 0 && number % size == 0) {
                producer.beginTransaction();
            }
            byte[] value = Integer.toString(number).getBytes(StandardCharsets.US_ASCII);
            long now = now();
            producer.send(new ProducerRecord<byte[], byte[]>(topic, value));
            Say.event("wrote", "number", number, "at_ns", now);
            if (size > 0 && (number + 1) % size == 0) {
                end(producer, options, number / size + 1);
            }
            Thread.sleep(options.number("every", 5));
        }
        producer.close();
    }

    private static void warm(KafkaProducer<byte[], byte[]> producer, String topic, Options options, boolean isTransactional)
            throws Exception {
        if (isTransactional) {
            producer.beginTransaction();
        }
        for (int number = 0; number < options.number("warm", 0); number++) {
            producer.send(new ProducerRecord<byte[], byte[]>(topic, new byte[8]));
            Thread.sleep(options.number("every", 5));
        }
        if (isTransactional) {
            producer.commitTransaction();
        }
    }

    private static void end(KafkaProducer<byte[], byte[]> producer, Options options, int transaction) throws Exception {
        producer.flush();
        Thread.sleep(options.number("hold", 0));
        int abort = options.number("abort", 0);
        if (abort > 0 && transaction % abort == 0) {
            producer.abortTransaction();
        } else {
            producer.commitTransaction();
        }
    }

    /** Nanoseconds since 1970. */
    static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
