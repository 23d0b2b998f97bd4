import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/** A Kafka Streams application: counts the words of --topic by value into --output, until its standard input says stop. */
public final class StreamsApp implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = options.client();
        properties.put("application.id", options.text("group", "streams-app"));
        properties.putIfAbsent("default.key.serde", Serdes.StringSerde.class.getName());
        properties.putIfAbsent("default.value.serde", Serdes.StringSerde.class.getName());
        properties.putIfAbsent("commit.interval.ms", "500");
        properties.putIfAbsent("state.dir", options.text("state", "/var/lib/kafka-record/streams"));
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(options.text("topic", "words")).groupBy((key, value) -> value, Grouped.as("by-value"))
                .count().toStream().to(options.text("output", "counts"), Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.setStateListener((now, before) -> Say.event("state", "group", options.text("group", null), "state", now.toString()));
        streams.start();
        while (System.in.available() == 0) {
            Thread.sleep(100);
        }
        streams.close(Duration.ofSeconds(10));
    }
}
