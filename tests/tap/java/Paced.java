import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Writes --rate records a second of --size bytes, and reads them. For each line of its standard input it says what was since the line
 * before: bytes, seconds, CPU of the JVM, and how long records took to be acknowledged, and to be read, counted from when they were due.
 * Ends with stop.
 */
public final class Paced implements Action {
    /** Times in steps of 4 % from 1 us on. */
    private static final int STEPS = 512;
    private static final double STEP = Math.log(1.04);
    private final AtomicLongArray acknowledged = new AtomicLongArray(STEPS);
    private final AtomicLongArray read = new AtomicLongArray(STEPS);
    private final AtomicLong errors = new AtomicLong();
    private volatile boolean stops;

    @Override
    public void run(Options options) throws Exception {
        Thread reader = new Thread(() -> consume(options), "paced-reader");
        Thread writer = new Thread(() -> produce(options), "paced-writer");
        reader.setDaemon(true);
        writer.setDaemon(true);
        reader.start();
        writer.start();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        Say.event("ready");
        long begun = System.nanoTime();
        long cpu = system.getProcessCpuTime();
        for (String line = lines.readLine(); line != null && !line.equals("stop"); line = lines.readLine()) {
            long now = System.nanoTime();
            long used = system.getProcessCpuTime();
            Say.event("spell", "name", line, "seconds", (now - begun) / 1e9, "cpu", (used - cpu) / 1e9, "written", count(acknowledged),
                    "read", count(read), "acknowledged_p50", part(acknowledged, 0.5), "acknowledged_p99", part(acknowledged, 0.99),
                    "read_p50", part(read, 0.5), "read_p99", part(read, 0.99), "errors", errors.get());
            for (int index = 0; index < STEPS; index++) {
                acknowledged.set(index, 0);
                read.set(index, 0);
            }
            begun = System.nanoTime();
            cpu = system.getProcessCpuTime();
        }
        stops = true;
        writer.join(10000);
    }

    private static void took(AtomicLongArray times, long nanoseconds) {
        int step = (int) (Math.log(Math.max(nanoseconds / 1000.0, 1)) / STEP);
        times.incrementAndGet(Math.min(step, STEPS - 1));
    }

    private static long count(AtomicLongArray times) {
        long sum = 0;
        for (int index = 0; index < STEPS; index++) {
            sum += times.get(index);
        }
        return sum;
    }

    /** Milliseconds within which that part of them was. */
    private static double part(AtomicLongArray times, double part) {
        double left = count(times) * part;
        for (int index = 0; index < STEPS; index++) {
            left -= times.get(index);
            if (left <= 0) {
                return Math.exp((index + 1) * STEP) / 1000;
            }
        }
        return Math.exp(STEPS * STEP) / 1000;
    }

    private void produce(Options options) {
        long rate = options.number("rate", 1000);
        int size = options.number("size", 1000);
        Properties properties = Produce.properties(options);
        properties.put("linger.ms", "5");
        properties.put("batch.size", "131072");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            long sent = 0;
            for (long begun = System.nanoTime(); !stops;) {
                long due = (System.nanoTime() - begun) / 1000 * rate / 1000000;
                for (; sent < due && !stops; sent++) {
                    long when = begun + sent * 1000000000L / rate;
                    byte[] value = new byte[size];
                    ByteBuffer.wrap(value).putLong(when);
                    producer.send(new ProducerRecord<>(options.text("topic", "paced"), 0, null, value), (done, problem) -> {
                        if (problem == null) {
                            took(acknowledged, System.nanoTime() - when);
                        } else {
                            errors.incrementAndGet();
                        }
                    });
                }
                Thread.sleep(1);
            }
        } catch (Exception problem) {
            errors.incrementAndGet();
        }
    }

    private void consume(Options options) {
        Properties properties = Consume.properties(options);
        properties.put("auto.offset.reset", "latest");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        TopicPartition partition = new TopicPartition(options.text("topic", "paced"), 0);
        consumer.assign(Collections.singletonList(partition));
        while (!stops) {
            try {
                for (ConsumerRecord<byte[], byte[]> record : Consume.poll(consumer)) {
                    took(read, System.nanoTime() - ByteBuffer.wrap(record.value()).getLong());
                }
            } catch (Exception problem) {
                errors.incrementAndGet();
            }
        }
    }
}
