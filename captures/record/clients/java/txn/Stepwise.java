import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * A producer that stays open and does what its standard input says, a line at a time: `write PREFIX` sends --count records, with a
 * --transactional-id in a transaction that it commits; `begin PREFIX` leaves the transaction open until `commit`. Any other line ends
 * it. After each step it says `done`.
 */
public final class Stepwise implements Action {
    private KafkaProducer<byte[], byte[]> producer;
    private Options options;
    private String id;

    @Override
    public void run(Options given) throws Exception {
        options = given;
        id = options.text("transactional-id", null);
        Properties properties = Produce.properties(options);
        if (id != null) {
            properties.put("transactional.id", id);
        }
        producer = new KafkaProducer<>(properties);
        if (id != null) {
            producer.initTransactions();
        }
        Say.event("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (!step(words[0], words.length > 1 ? words[1] : "value")) {
                break;
            }
            Say.event("done", "step", line);
        }
        producer.close();
    }

    private boolean step(String what, String prefix) throws Exception {
        if (!what.equals("write") && !what.equals("begin") && !what.equals("commit")) {
            return false;
        }
        if (id != null && !what.equals("commit")) {
            producer.beginTransaction();
        }
        if (!what.equals("commit")) {
            Produce.send(producer, options, prefix);
        }
        if (id != null && !what.equals("begin")) {
            end(prefix);
        }
        return true;
    }

    private void end(String prefix) {
        try {
            producer.commitTransaction();
            Say.event("committed_transaction", "id", id, "prefix", prefix);
        } catch (Exception problem) {
            Say.error("commit", problem);
            producer.abortTransaction();
            Say.event("aborted_transaction", "id", id, "prefix", prefix);
        }
    }
}
