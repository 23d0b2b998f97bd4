import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * An application under load: writes numbered records of --size bytes to --topic, --rate of them a second, and reads them back. Whatever
 * is not as it was written, and every exception, is an error. Says twice a second what it has done, its threads and open files. Ends
 * when its standard input says stop, after it has read all it wrote.
 */
public final class Load implements Action {
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong acknowledged = new AtomicLong();
    private final AtomicLong read = new AtomicLong();
    private final AtomicLong errors = new AtomicLong();
    private volatile boolean stops;
    private volatile boolean wrote;
    private volatile String first = "";

    @Override
    public void run(Options options) throws Exception {
        Thread reader = new Thread(() -> guarded(() -> consume(options)), "load-reader");
        Thread writer = new Thread(() -> guarded(() -> produce(options)), "load-writer");
        reader.start();
        writer.start();
        while (System.in.available() == 0) {
            Thread.sleep(500);
            say("load");
        }
        stops = true;
        writer.join();
        wrote = true;
        for (int patience = 0; patience < 1000 && read.get() < acknowledged.get(); patience++) {
            Thread.sleep(100);
        }
        say("end");
    }

    private void say(String what) {
        Say.event(what, "sent", sent.get(), "acknowledged", acknowledged.get(), "read", read.get(), "errors", errors.get(), "first", first,
                "threads", Thread.getAllStackTraces().size(), "files", new File("/proc/self/fd").list().length);
    }

    private interface Work {
        void run() throws Exception;
    }

    private void guarded(Work work) {
        try {
            work.run();
        } catch (Throwable problem) {
            wrong(problem);
        }
    }

    private void wrong(Object problem) {
        if (errors.getAndIncrement() == 0) {
            first = String.valueOf(problem);
        }
    }

    private void produce(Options options) throws Exception {
        int rate = options.number("rate", 1000);
        byte[] padding = new byte[options.number("size", 200)];
        Arrays.fill(padding, (byte) 'x');
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(Produce.properties(options))) {
            for (long begun = System.nanoTime(); !stops;) {
                long due = (System.nanoTime() - begun) / 1000 * rate / 1000000;
                while (sent.get() < due) {
                    byte[] value = padding.clone();
                    ByteBuffer.wrap(value).putLong(sent.getAndIncrement());
                    producer.send(new ProducerRecord<>(options.text("topic", "load"), 0, null, value), (done, problem) -> {
                        if (problem == null) {
                            acknowledged.incrementAndGet();
                        } else {
                            wrong(problem);
                        }
                    });
                }
                Thread.sleep(2);
            }
        }
    }

    private void consume(Options options) throws Exception {
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Consume.properties(options));
        TopicPartition partition = new TopicPartition(options.text("topic", "load"), 0);
        consumer.assign(Collections.singletonList(partition));
        while (!wrote || read.get() < acknowledged.get()) {
            for (ConsumerRecord<byte[], byte[]> record : Consume.poll(consumer)) {
                long number = ByteBuffer.wrap(record.value()).getLong();
                if (number != read.getAndIncrement() || record.value()[record.value().length - 1] != 'x') {
                    wrong("record " + number + " at place " + (read.get() - 1));
                }
            }
        }
    }
}
