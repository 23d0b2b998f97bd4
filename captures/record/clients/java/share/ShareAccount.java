import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;

/**
 * Reads --topic in the share group --group (KIP-932) until its standard input says stop, and keeps account of what it received and of
 * which acknowledgements the broker took. It acknowledges records as --plan says, in turn: accept, release, reject or renew. After its
 * first records it works for --work milliseconds. With --leave it then closes without an acknowledgement, with --stay it hangs.
 */
public final class ShareAccount implements Action {
    private final Map<String, Integer> account = new TreeMap<>();
    private final Map<String, AcknowledgeType> types = new HashMap<>();

    @Override
    public void run(Options options) throws Exception {
        Properties properties = Consume.properties(options);
        for (String absent : new String[] {"auto.offset.reset", "enable.auto.commit"}) {
            properties.remove(absent); // a share group has these on the broker
        }
        properties.put("share.acknowledgement.mode", "explicit");
        properties.put("share.acquire.mode", "record_limit"); // else a poll takes all that there is
        properties.put("max.poll.records", "20");
        List<String> plan = Arrays.asList(options.text("plan", "ACCEPT").split(","));
        int seen = 0;
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(properties)) {
            consumer.setAcknowledgementCommitCallback(this::count);
            consumer.subscribe(Arrays.asList(options.text("topic", "topic")));
            Say.event("joined");
            while (System.in.available() == 0) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    if (types.remove(place(record)) != AcknowledgeType.RENEW) { // else it has it already
                        add("delivery " + record.deliveryCount().orElse((short) 0), 1);
                    }
                }
                if (seen == 0 && !records.isEmpty()) {
                    Say.event("account", "totals", account);
                    Say.event("works");
                    Thread.sleep(options.number("work", 0));
                    if (options.flag("leave")) {
                        return;
                    }
                    while (options.flag("stay")) {
                        Thread.sleep(100);
                    }
                }
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    AcknowledgeType type = AcknowledgeType.valueOf(plan.get(seen++ % plan.size()));
                    types.put(place(record), type);
                    consumer.acknowledge(record, type);
                }
                consumer.commitSync();
                if (!records.isEmpty()) {
                    Say.event("account", "totals", account);
                }
            }
        }
        Say.event("account", "totals", account);
    }

    private static String place(ConsumerRecord<byte[], byte[]> record) {
        return record.topic() + record.partition() + "/" + record.offset();
    }

    private void count(Map<TopicIdPartition, Set<Long>> offsets, Exception problem) {
        offsets.forEach((partition, acknowledged) -> {
            for (long offset : acknowledged) {
                String type = types.get(partition.topic() + partition.partition() + "/" + offset).toString();
                add(problem == null ? type : "refused", 1);
            }
        });
    }

    private void add(String what, int count) {
        account.merge(what, count, Integer::sum);
    }
}
