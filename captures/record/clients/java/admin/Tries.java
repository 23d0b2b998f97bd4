import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.KafkaFuture;

/** Calls that may fail without ending the driver: what came of each is an event. */
final class Tries {
    private Tries() {}

    /** Start a call, wait for its answer, say how it ended; null when it failed. */
    static <T> T call(String name, Callable<KafkaFuture<T>> start) {
        try {
            T got = start.call().get(20, TimeUnit.SECONDS);
            Say.event("called", "call", name);
            return got;
        } catch (Exception | LinkageError problem) {
            Say.error(name, problem);
            return null;
        }
    }
}
