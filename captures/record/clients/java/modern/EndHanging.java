import java.util.Collections;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.common.TopicPartition;

/** Looks who writes to partition 0 of --topic, and ends the transaction that hangs there, as kafka-transactions.sh does (KIP-664). */
public final class EndHanging implements Action {
    @Override
    public void run(Options options) throws Exception {
        TopicPartition partition = new TopicPartition(options.text("topic", "topic"), 0);
        try (Admin admin = Admin.create(options.client())) {
            for (ProducerState state : admin.describeProducers(Collections.singleton(partition)).partitionResult(partition).get()
                    .activeProducers()) {
                if (state.currentTransactionStartOffset().isPresent()) {
                    Say.event("found", "producer", state.producerId(), "epoch", state.producerEpoch(), "offset",
                            state.currentTransactionStartOffset().getAsLong());
                    admin.abortTransaction(new AbortTransactionSpec(partition, state.producerId(), (short) state.producerEpoch(),
                            state.coordinatorEpoch().orElse(0))).all().get();
                    Say.event("ended", "producer", state.producerId(), "epoch", state.producerEpoch());
                }
            }
        }
    }
}
