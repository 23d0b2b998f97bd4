package kdissect.tap;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.security.AccessController;
import java.security.AllPermission;
import java.security.Permissions;
import java.security.PrivilegedActionException;
import java.security.PrivilegedExceptionAction;
import java.security.ProtectionDomain;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Begins and ends taps. Their classes are in a loader of their own, so that a JVM can forget them when the tap ends. */
public final class Loader {
    private static final String INNER = "inner/";

    private Loader() {
    }

    /** Do what the options say, with the rights of the JVM itself: a security manager gives an agent's jar none. */
    public static synchronized void begin(String options, String jar, boolean attached, Instrumentation jvm,
            AtomicReference<AutoCloseable> running, ClassLoader above) throws Exception {
        PrivilegedExceptionAction<Void> work = new PrivilegedExceptionAction<Void>() {
            @Override
            public Void run() throws Exception {
                if (options.equals("stop")) {
                    stop(running.get());
                    return null;
                }
                Class<?> tap = Class.forName("kdissect.tap.inner.Tap", true, new Inner(jar, above));
                tap.getMethod("start", String.class, boolean.class, Instrumentation.class, AtomicReference.class)
                        .invoke(null, options, attached, jvm, running);
                return null;
            }
        };
        try {
            AccessController.doPrivileged(work);
        } catch (PrivilegedActionException problem) {
            throw problem.getException();
        }
    }

    private static void stop(AutoCloseable ends) throws Exception {
        if (ends != null) {
            ends.close();
        }
    }

    private static final class Inner extends ClassLoader {
        private final Map<String, byte[]> classes = new HashMap<>();
        private final ProtectionDomain trusted;

        Inner(String jar, ClassLoader above) throws IOException {
            super(above);
            Permissions all = new Permissions();
            all.add(new AllPermission());
            trusted = new ProtectionDomain(null, all);
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
            return defineClass(name, code, 0, code.length, trusted);
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
