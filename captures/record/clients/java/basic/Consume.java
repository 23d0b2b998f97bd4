import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads --topic (a list with commas): as a member of --group, or, without one, from its --partitions. Ends after --count records,
 * after --polls polls, or with --wait true when its standard input says stop. With --stall it polls no more once it read that many
 * records, as an application that hangs; with --slow each poll that brought records is followed by work of that many milliseconds.
 */
public final class Consume implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = properties(options);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        List<String> topics = Arrays.asList(options.text("topic", "topic").split(","));
        if (options.text("group", null) == null) {
            assign(consumer, topics, options);
        } else {
            subscribe(consumer, topics, options);
        }
        read(consumer, options);
        if (options.flag("commit")) {
            consumer.commitSync();
            Say.event("committed", "group", options.text("group", null));
        }
        consumer.close();
    }

    static Properties properties(Options options) {
        Properties properties = options.client();
        properties.putIfAbsent("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.putIfAbsent("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.putIfAbsent("auto.offset.reset", "earliest");
        properties.putIfAbsent("enable.auto.commit", "false");
        properties.putIfAbsent("fetch.max.wait.ms", "300");
        String group = options.text("group", null);
        if (group != null) {
            properties.put("group.id", group);
        }
        return properties;
    }

    private static void assign(Consumer<byte[], byte[]> consumer, List<String> topics, Options options) throws Exception {
        List<TopicPartition> partitions = new ArrayList<>();
        for (String topic : topics) {
            for (int number = 0; number < options.number("partitions", 1); number++) {
                partitions.add(new TopicPartition(topic, number));
            }
        }
        // The parameter became a Collection in 0.10.
        for (Method method : KafkaConsumer.class.getMethods()) {
            if (method.getName().equals("assign")) {
                method.invoke(consumer, partitions);
            }
        }
        if (options.number("seek", -1) >= 0) {
            consumer.seek(partitions.get(0), options.number("seek", 0));
        }
    }

    private static void subscribe(Consumer<byte[], byte[]> consumer, List<String> topics, Options options) throws Exception {
        String group = options.text("group", null);
        ConsumerRebalanceListener listener = new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                Say.event("revoked", "group", group, "partitions", names(partitions));
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                Say.event("assigned", "group", group, "partitions", names(partitions));
            }
        };
        for (Method method : KafkaConsumer.class.getMethods()) {
            Class<?>[] kinds = method.getParameterTypes();
            if (method.getName().equals("subscribe") && kinds.length == 2 && kinds[0].isAssignableFrom(List.class)) {
                method.invoke(consumer, topics, listener);
            }
        }
    }

    private static List<String> names(Collection<TopicPartition> partitions) {
        List<String> names = new ArrayList<>();
        for (TopicPartition partition : partitions) {
            names.add(partition.toString());
        }
        return names;
    }

    static void read(Consumer<byte[], byte[]> consumer, Options options) throws Exception {
        int wanted = options.number("count", Integer.MAX_VALUE);
        int polls = options.flag("wait") ? Integer.MAX_VALUE : options.number("polls", 60);
        boolean commitEach = options.flag("commit-each");
        int seen = 0;
        for (int poll = 0; poll < polls && seen < wanted && System.in.available() == 0; poll++) {
            ConsumerRecords<byte[], byte[]> records;
            try {
                records = poll(consumer);
            } catch (Exception problem) {
                Say.error("poll", problem);
                break;
            }
            for (ConsumerRecord<byte[], byte[]> record : records) {
                say(record);
                seen++;
            }
            if (commitEach && !records.isEmpty()) {
                consumer.commitSync();
            }
            work(records.isEmpty() ? 0 : options.number("slow", 0));
            if (seen >= options.number("stall", Integer.MAX_VALUE)) {
                stall();
            }
        }
    }

    private static void work(int milliseconds) throws Exception {
        if (milliseconds > 0) {
            Say.event("works", "milliseconds", milliseconds);
            Thread.sleep(milliseconds);
        }
    }

    /** As long as nobody says stop. */
    static void stall() throws Exception {
        Say.event("stalled");
        while (System.in.available() == 0) {
            Thread.sleep(50);
        }
    }

    static void say(ConsumerRecord<byte[], byte[]> record) {
        Say.event("read", "topic", record.topic(), "partition", record.partition(), "offset", record.offset(), "key", record.key(),
                "value", record.value(), "headers", Headers.of(record), "timestamp", Headers.timestamp(record));
    }

    @SuppressWarnings("unchecked")
    static ConsumerRecords<byte[], byte[]> poll(Consumer<byte[], byte[]> consumer) throws Exception {
        try {
            return (ConsumerRecords<byte[], byte[]>) method(Duration.class).invoke(consumer, Duration.ofMillis(300));
        } catch (NoSuchMethodException old) {
            return (ConsumerRecords<byte[], byte[]>) method(long.class).invoke(consumer, 300L); // before 2.0
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            throw (Exception) thrown.getCause();
        }
    }

    private static Method method(Class<?> kind) throws NoSuchMethodException {
        return KafkaConsumer.class.getMethod("poll", kind);
    }
}
