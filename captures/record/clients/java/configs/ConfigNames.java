import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.config.ConfigDef;

/** Prints `kind type name` of every config that a class of Kafka defines. The arguments are its jars. */
public final class ConfigNames {
    /** The kind of the configs of a class, by what the name of the class holds; the first that fits. */
    private static final String[][] KINDS = {
        {".mirror.", ""}, {".connect.transforms.", ""}, {".connect.file.", ""}, {".connect.tools.", ""},
        {".tools.", ""}, {".connect.", "connect"}, {".kafka.streams.", "client"}, {".kafka.clients.", "client"},
        {"ClientMetrics", "client-metrics"}, {"GroupConfig", "group"}, {"DynamicConfig$Broker", "broker"},
        {"DynamicConfig$", "quota"}, {"QuotaConfig", "quota"}, {".remote.metadata.storage.", "broker"},
        {"TopicConfig", "topic"}, {"LogConfig", "topic"}, {"kafka.", "broker"},
    };

    public static void main(String[] jars) throws Exception {
        TreeSet<String> lines = new TreeSet<>();
        for (String jar : jars) {
            for (String name : classes(jar)) {
                String kind = kind(name);
                if (!kind.isEmpty()) {
                    look(name, kind, lines);
                }
            }
        }
        lines.forEach(System.out::println);
    }

    private static List<String> classes(String jar) throws Exception {
        List<String> names = new ArrayList<>();
        try (JarFile file = new JarFile(new File(jar))) {
            for (Enumeration<JarEntry> all = file.entries(); all.hasMoreElements(); ) {
                String path = all.nextElement().getName();
                boolean isOurs = path.startsWith("org/apache/kafka/") || path.startsWith("kafka/");
                if (isOurs && path.endsWith(".class") && path.contains("onfig")) {
                    names.add(path.substring(0, path.length() - 6).replace('/', '.'));
                }
            }
        }
        return names;
    }

    private static String kind(String name) {
        for (String[] kind : KINDS) {
            if (name.contains(kind[0])) {
                return kind[1];
            }
        }
        return "";
    }

    private static void look(String name, String kind, TreeSet<String> lines) {
        try {
            Class<?> type = Class.forName(name);
            Object module = null;
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals("MODULE$")) {
                    module = field.get(null);
                }
            }
            for (Field field : type.getDeclaredFields()) {
                boolean isStatic = Modifier.isStatic(field.getModifiers());
                if (ConfigDef.class.isAssignableFrom(field.getType()) && (isStatic || module != null)) {
                    field.setAccessible(true);
                    add((ConfigDef) field.get(isStatic ? null : module), kind, lines);
                }
            }
            for (Method method : type.getDeclaredMethods()) {
                boolean isStatic = Modifier.isStatic(method.getModifiers());
                if (ConfigDef.class.isAssignableFrom(method.getReturnType()) && method.getParameterCount() == 0
                        && (isStatic || module != null)) {
                    method.setAccessible(true);
                    add((ConfigDef) method.invoke(isStatic ? null : module), kind, lines);
                }
                if (ConfigDef.class.isAssignableFrom(method.getReturnType()) && method.getParameterCount() == 1
                        && isStatic && method.getParameterTypes()[0].getSimpleName().equals("Crypto")) {
                    method.setAccessible(true); // DistributedConfig asks it which algorithms there are
                    add((ConfigDef) method.invoke(null, method.getParameterTypes()[0].getField("SYSTEM").get(null)), kind, lines);
                }
            }
        } catch (ReflectiveOperationException | LinkageError | RuntimeException error) {
            System.err.println("not looked at: " + name + ": " + error);
        }
    }

    private static void add(ConfigDef def, String kind, TreeSet<String> lines) {
        if (def != null) {
            for (Map.Entry<String, ConfigDef.ConfigKey> one : def.configKeys().entrySet()) {
                lines.add(kind + " " + one.getValue().type + " " + one.getKey());
            }
        }
    }
}
