import org.apache.kafka.clients.producer.KafkaProducer;

/** Sends one record and says how it was refused: wrong password, no permission, too large, not there. */
public final class Impostor implements Action {
    @Override
    public void run(Options options) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(Produce.properties(options))) {
            Produce.send(producer, options, "refused");
        } catch (Exception problem) {
            Say.error("producer", problem);
        }
    }
}
