package kdissect.tap.inner;

import java.util.HashMap;
import java.util.Map;

/** What a tap is asked for: `name=value`, joined by commas. Raises IllegalArgumentException. */
final class Options {
    private static final String KNOWN = " jar file listen connect token engines seconds megabytes buffer kafka ";
    /** The file or named pipe to write; or the port of 127.0.0.1 to listen at, or to connect to; 0: none. */
    final String file;
    final int listen;
    final int connect;
    /** What is said first by who connects. */
    final String token;
    /** Whether TLS engines are hooked, too. */
    final boolean engines;
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
        listen = (int) number(given, "listen", 0, 65535);
        connect = (int) number(given, "connect", 0, 65535);
        if ((file == null ? 0 : 1) + (listen == 0 ? 0 : 1) + (connect == 0 ? 0 : 1) != 1) {
            throw new IllegalArgumentException("one of file=PATH and listen=PORT is needed: where to write");
        }
        engines = given.containsKey("engines");
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
