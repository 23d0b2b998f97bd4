import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/**
 * A transactional producer: --transactional-id does what --plan lists: `commit`, `abort`, `offsets` (commit with the
 * offsets of --group sent along), `fence` (a second producer takes the id over), `open` (leaves one open).
 */
public final class Transact implements Action {
    private String id;

    @Override
    public void run(Options options) throws Exception {
        id = options.text("transactional-id", "txn");
        KafkaProducer<byte[], byte[]> producer = begin(options);
        int number = 0;
        for (String step : options.text("plan", "commit,abort,commit").split(",")) {
            step(producer, options, step, step + number++);
        }
        if (!options.text("plan", "").endsWith("open")) {
            producer.close();
        }
    }

    private KafkaProducer<byte[], byte[]> begin(Options options) {
        Properties properties = Produce.properties(options);
        properties.put("transactional.id", id);
        if (!properties.containsKey("transaction.two.phase.commit.enable")) { // KIP-939: then there is no timeout
            properties.putIfAbsent("transaction.timeout.ms", "20000");
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        producer.initTransactions();
        Say.event("init_transactions", "id", id);
        return producer;
    }

    private void step(KafkaProducer<byte[], byte[]> producer, Options options, String step, String prefix) throws Exception {
        producer.beginTransaction();
        Produce.send(producer, options, prefix);
        if (step.equals("open")) {
            producer.flush();
            Say.event("open_transaction", "id", id);
        } else if (step.equals("abort")) {
            producer.abortTransaction();
            Say.event("aborted_transaction", "id", id, "prefix", prefix);
        } else if (step.equals("fence")) {
            fence(producer, options, prefix);
        } else {
            if (step.equals("offsets")) {
                sendOffsets(producer, options);
            }
            producer.commitTransaction();
            Say.event("committed_transaction", "id", id, "prefix", prefix);
        }
    }

    /** A newcomer with the same id takes the transaction over: the old producer cannot commit. */
    private void fence(KafkaProducer<byte[], byte[]> producer, Options options, String prefix) throws Exception {
        KafkaProducer<byte[], byte[]> newcomer = begin(options);
        try {
            producer.commitTransaction();
        } catch (Exception problem) {
            Say.event("fenced_transaction", "id", id, "prefix", prefix, "code", problem.getClass().getSimpleName());
        }
        newcomer.beginTransaction();
        Produce.send(newcomer, options, "newcomer");
        newcomer.commitTransaction();
        Say.event("committed_transaction", "id", id, "prefix", "newcomer");
        newcomer.close();
    }

    private static void sendOffsets(KafkaProducer<byte[], byte[]> producer, Options options) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (String topic : Arrays.asList(options.text("source", "source").split(","))) {
            offsets.put(new TopicPartition(topic, 0), new OffsetAndMetadata(options.number("offset", 1), "by transaction"));
        }
        String group = options.text("group", "group");
        try {
            Class<?> kind = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
            Object metadata = kind.getConstructor(String.class).newInstance(group);
            KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, kind).invoke(producer, offsets, metadata);
        } catch (ClassNotFoundException | NoSuchMethodException old) {
            KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, String.class).invoke(producer, offsets, group);
        }
        Say.event("txn_offsets", "group", group, "offsets", Collections.singletonList(options.number("offset", 1)));
    }
}
