package kdissect.tap.inner;

import java.util.HashMap;
import java.util.Map;

/** What a tap is asked for: `name=value`, joined by commas. Raises IllegalArgumentException. */
final class Options {
    private static final String KNOWN = " jar file connect token seconds megabytes buffer kafka ";
    /** The file or named pipe to write; or the port of 127.0.0.1 to connect to, and what to say there first. */
    final String file;
    final int port;
    final String token;
    /** End after so many seconds, or megabytes written; 0: at the end of the JVM. */
    final long seconds;
    final long megabytes;
    /** Bytes that may wait for being written. */
    final long buffer;
    /** Whether a JVM that has not loaded Kafka is refused. */
    final boolean needsKafka;

    Options(String text) {
        Map<String, String> given = new HashMap<>();
        for (String option : text.isEmpty() ? new String[0] : text.split(",")) {
            int at = option.indexOf('=');
            String name = at < 0 ? option : option.substring(0, at);
            if (at < 0 || !KNOWN.contains(" " + name + " ")) {
                throw new IllegalArgumentException("unknown option '" + option + "'");
            }
            given.put(name, option.substring(at + 1));
        }
        file = given.get("file");
        token = given.getOrDefault("token", "");
        port = (int) number(given, "connect", 0, 65535);
        if ((file == null) == (port == 0)) {
            throw new IllegalArgumentException("file=PATH is missing: where to write");
        }
        seconds = number(given, "seconds", 0, Integer.MAX_VALUE);
        megabytes = number(given, "megabytes", 0, Integer.MAX_VALUE);
        buffer = number(given, "buffer", 16, 1024) * 1_000_000;
        needsKafka = given.containsKey("kafka");
    }

    private static long number(Map<String, String> given, String name, long otherwise, long most) {
        String text = given.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            long value = Long.parseLong(text);
            if (value >= 1 && value <= most) {
                return value;
            }
        } catch (NumberFormatException notOne) {
            // Said below.
        }
        throw new IllegalArgumentException(name + "=" + text + " is no number from 1 to " + most);
    }
}
