package kdissect.tap;

import java.io.PrintStream;
import java.lang.instrument.Instrumentation;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicReference;
import java.util.jar.JarFile;

/**
 * Where the JVM enters the agent, which it has in the application's class loader. Where engines are to be hooked, which are the JVM's own
 * classes, or there is a security manager, the JVM's own loader gets to know the jar: its classes are seen by all then, and trusted.
 */
public final class Agent {
    /** The tap that runs, if any. */
    private static final AtomicReference<AutoCloseable> RUNNING = new AtomicReference<>();
    private static boolean shared;

    private Agent() {
    }

    /** From -javaagent, before the application begins. */
    public static void premain(String options, Instrumentation jvm) {
        begin(options, jvm, false);
    }

    /** Into a JVM that runs. Raises nothing: what went wrong is said where the options say that output goes. */
    public static void agentmain(String options, Instrumentation jvm) {
        begin(options, jvm, true);
    }

    private static synchronized void begin(String options, Instrumentation jvm, boolean attached) {
        try {
            String told = options == null ? "" : options;
            String jar = jar(told);
            boolean engines = ("," + told).contains(",engines=");
            if (!shared && (engines || System.getSecurityManager() != null)) {
                try (JarFile file = new JarFile(jar)) {
                    jvm.appendToBootstrapClassLoaderSearch(file);
                }
                shared = true; // each time the JVM would open it once more
            }
            Loader.begin(told, jar, attached, jvm, RUNNING, Agent.class.getClassLoader());
        } catch (Throwable problem) {
            PrintStream errors = System.err;
            errors.println("kdissect-tap: the tap did not begin: " + problem);
        }
    }

    private static String jar(String options) throws URISyntaxException {
        for (String option : options.split(",")) {
            if (option.startsWith("jar=")) {
                return option.substring(4);
            }
        }
        String place = Agent.class.getResource("Agent.class").toString(); // jar:file:...!/...
        return Paths.get(new URI(place.substring(place.indexOf(':') + 1, place.indexOf("!/")))).toString();
    }
}
