import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** The arguments of a driver: options by name, and properties of the client. */
public final class Options {
    public final String bootstrap;
    private final Map<String, String> values = new HashMap<>();
    private final Properties properties = new Properties();

    public Options(String[] arguments) {
        bootstrap = arguments[0];
        for (int at = 2; at + 1 < arguments.length; at += 2) {
            String value = arguments[at + 1];
            if (arguments[at].equals("--set")) {
                int sign = value.indexOf('=');
                properties.put(value.substring(0, sign), value.substring(sign + 1));
            } else {
                values.put(arguments[at].substring(2), value);
            }
        }
    }

    public String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    public int number(String name, int otherwise) {
        return Integer.parseInt(values.getOrDefault(name, Integer.toString(otherwise)));
    }

    public boolean flag(String name) {
        return Boolean.parseBoolean(values.getOrDefault(name, "false"));
    }

    /** What every client is set up with; the scenario's own properties win. */
    public Properties client() {
        Properties all = new Properties();
        all.put("bootstrap.servers", bootstrap);
        all.put("client.id", text("client-id", "driver"));
        all.putAll(properties);
        return all;
    }
}
