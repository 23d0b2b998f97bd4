import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/**
 * Reads --topic in the share group --group (KIP-932) and acknowledges in turn: accept, release, reject, renew; or as --acts says, a list
 * with commas. With --stall it takes records, acknowledges none and polls no more, as an application that hangs. With --slow it works
 * that many milliseconds on what a poll brought, before it acknowledges it.
 */
public final class ShareConsume implements Action {
    private static final AcknowledgeType[] TURNS = {
        AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
    };

    private final Set<Long> renewed = new HashSet<>();

    @Override
    public void run(Options options) throws Exception {
        Properties properties = Consume.properties(options);
        for (String absent : new String[] {"auto.offset.reset", "enable.auto.commit"}) {
            properties.remove(absent); // a share group has these on the broker
        }
        boolean explicit = options.flag("explicit");
        properties.put("share.acknowledgement.mode", explicit ? "explicit" : "implicit");
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(properties)) {
            consumer.subscribe(Arrays.asList(options.text("topic", "topic").split(",")));
            Say.event("joined", "group", options.text("group", null), "member", null);
            int wanted = options.number("count", Integer.MAX_VALUE);
            int polls = options.flag("wait") ? Integer.MAX_VALUE : options.number("polls", 40);
            AcknowledgeType[] acts = acts(options);
            int seen = 0;
            for (int poll = 0; poll < polls && seen < wanted && System.in.available() == 0; poll++) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(400));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    Say.event("delivered", "topic", record.topic(), "partition", record.partition(), "offset", record.offset(),
                            "count", record.deliveryCount().orElse((short) 0));
                    if (!options.flag("stall")) {
                        take(consumer, record, explicit ? acts[seen % acts.length] : null, options);
                    }
                    seen++;
                }
                if (options.flag("stall") && seen > 0) {
                    Consume.stall();
                }
                Thread.sleep(records.isEmpty() ? 0 : options.number("slow", 0));
                Say.event("acknowledged", "partitions", consumer.commitSync().size());
            }
        }
    }

    private static AcknowledgeType[] acts(Options options) {
        String named = options.text("acts", "");
        return named.isEmpty() ? TURNS
                : Arrays.stream(named.split(",")).map(AcknowledgeType::valueOf).toArray(AcknowledgeType[]::new);
    }

    private void take(KafkaShareConsumer<byte[], byte[]> consumer, ConsumerRecord<byte[], byte[]> record,
            AcknowledgeType how, Options options) {
        Consume.say(record);
        if (how == null) {
            return;
        }
        if (options.flag("renew") && renewed.add(record.offset())) {
            consumer.acknowledge(record, AcknowledgeType.valueOf("RENEW")); // the next poll brings it again
            return;
        }
        consumer.acknowledge(record, how);
        Say.event("acknowledge", "offset", record.offset(), "as", how.toString());
    }
}
