import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.kstream.KStreamBuilder;

/** Kafka Streams as of 0.10.2: counts --topic by key; its own client creates the changelog topic. Ends when told to stop. */
public final class StreamsOld implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = options.client();
        properties.put("application.id", options.text("group", "streams-old"));
        properties.put("key.serde", Serdes.StringSerde.class.getName());
        properties.put("value.serde", Serdes.StringSerde.class.getName());
        properties.put("auto.offset.reset", "earliest");
        properties.put("commit.interval.ms", "500");
        properties.put("state.dir", options.text("state", "/var/lib/kafka-record/streams"));
        KStreamBuilder builder = new KStreamBuilder();
        builder.<String, String>stream(options.text("topic", "words")).groupByKey().count("counts");
        KafkaStreams streams = new KafkaStreams(builder, properties);
        streams.setUncaughtExceptionHandler((thread, problem) -> Say.error("streams", problem));
        streams.start();
        Say.event("started", "group", options.text("group", null));
        while (System.in.available() == 0) {
            Thread.sleep(100);
        }
        streams.close();
    }
}
