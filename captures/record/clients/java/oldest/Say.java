import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ExecutionException;

/** Prints events, one JSON object a line. */
public final class Say {
    private Say() {}

    public static synchronized void event(String kind, Object... pairs) {
        StringBuilder line = new StringBuilder("{\"event\":").append(json(kind));
        for (int at = 0; at + 1 < pairs.length; at += 2) {
            line.append(',').append(json(pairs[at])).append(':').append(json(pairs[at + 1]));
        }
        System.out.println(line.append('}'));
        System.out.flush();
    }

    /** An error the scenario provokes on purpose. */
    public static void error(String where, Throwable problem) {
        Throwable cause = problem;
        while (cause instanceof ExecutionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        event("error", "where", where, "code", cause.getClass().getSimpleName());
    }

    private static String json(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        if (value instanceof byte[]) {
            return bytes((byte[]) value);
        }
        if (value instanceof Collection || value instanceof Map) {
            return container(value);
        }
        return text(value.toString());
    }

    private static String container(Object value) {
        StringBuilder out = new StringBuilder();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(out.length() == 0 ? "" : ",").append(text(entry.getKey().toString()));
                out.append(':').append(json(entry.getValue()));
            }
            return "{" + out + "}";
        }
        for (Object item : (Collection<?>) value) {
            out.append(out.length() == 0 ? "" : ",").append(json(item));
        }
        return "[" + out + "]";
    }

    /** Printable ASCII as text, other bytes as {"hex": ...}. */
    private static String bytes(byte[] value) {
        StringBuilder hex = new StringBuilder();
        boolean plain = true;
        for (byte one : value) {
            plain &= one >= 32 && one < 127;
            hex.append(String.format("%02x", one));
        }
        return plain ? text(new String(value, StandardCharsets.US_ASCII)) : "{\"hex\":\"" + hex + "\"}";
    }

    private static String text(String value) {
        StringBuilder out = new StringBuilder("\"");
        for (char one : value.toCharArray()) {
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (one < 32 || one > 126) {
                out.append(String.format("\\u%04x", (int) one));
            } else {
                out.append(one);
            }
        }
        return out.append('"').toString();
    }
}
