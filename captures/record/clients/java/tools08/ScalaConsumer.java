import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;

/** The console consumer of 0.8: it finds brokers through --zookeeper and keeps its offsets in Kafka. */
public final class ScalaConsumer implements Action {
    @Override
    public void run(Options options) throws Exception {
        Path config = Files.createTempFile("consumer", ".properties");
        String group = options.text("group", "group");
        Files.writeString(config, "group.id=" + group + "\noffsets.storage=kafka\ndual.commit.enabled=false\n"
                + "auto.commit.interval.ms=500\nclient.id=" + options.text("client-id", "scala") + "\n");
        PrintStream terminal = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed));
        Method main = Class.forName("kafka.tools.ConsoleConsumer").getMethod("main", String[].class);
        main.invoke(null, (Object) new String[] {
            "--zookeeper", options.text("zookeeper", null), "--topic", options.text("topic", "topic"), "--from-beginning",
            "--max-messages", options.text("count", "4"), "--consumer.config", config.toString()});
        System.setOut(terminal);
        Files.delete(config);
        for (String line : printed.toString("US-ASCII").split("\n")) {
            Say.event("read", "topic", options.text("topic", "topic"), "value", line);
        }
    }
}
