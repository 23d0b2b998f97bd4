package kdissect.tap;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.instrument.Instrumentation;
import java.net.URISyntaxException;
import java.nio.file.Paths;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Where the JVM enters the agent. All else is in classes of a loader of their own, so that a JVM can forget them when
 * the tap ends; this class and Gate stay.
 */
public final class Agent {
    private static final String INNER = "inner/";
    /** The tap that runs, if any. */
    private static final AtomicReference<AutoCloseable> RUNNING = new AtomicReference<>();

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
            if (told.equals("stop")) {
                stop();
                return;
            }
            Class<?> tap = Class.forName("kdissect.tap.inner.Tap", true, new Inner(jar(told)));
            tap.getMethod("start", String.class, boolean.class, Instrumentation.class, AtomicReference.class)
                    .invoke(null, told, attached, jvm, RUNNING);
        } catch (Throwable problem) {
            say("the tap did not begin: " + problem);
        }
    }

    private static void stop() throws Exception {
        AutoCloseable ends = RUNNING.get();
        if (ends != null) {
            ends.close();
        }
    }

    private static void say(String text) {
        PrintStream errors = System.err;
        errors.println("kdissect-tap: " + text);
    }

    private static String jar(String options) throws URISyntaxException {
        for (String option : options.split(",")) {
            if (option.startsWith("jar=")) {
                return option.substring(4);
            }
        }
        return Paths.get(Agent.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    }

    private static final class Inner extends ClassLoader {
        private final Map<String, byte[]> classes = new HashMap<>();

        Inner(String jar) throws IOException {
            super(Agent.class.getClassLoader());
            try (JarFile file = new JarFile(jar)) {
                for (Enumeration<JarEntry> entries = file.entries(); entries.hasMoreElements();) {
                    JarEntry entry = entries.nextElement();
                    String name = entry.getName();
                    if (name.startsWith(INNER) && name.endsWith(".class")) {
                        String dotted = name.substring(INNER.length(), name.length() - 6).replace('/', '.');
                        classes.put(dotted, all(file.getInputStream(entry)));
                    }
                }
            }
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] code = classes.get(name);
            if (code == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, code, 0, code.length);
        }

        private static byte[] all(InputStream from) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] piece = new byte[8192];
            for (int count = from.read(piece); count > 0; count = from.read(piece)) {
                bytes.write(piece, 0, count);
            }
            return bytes.toByteArray();
        }
    }
}
