package kdissect.tap.inner;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Names this process, for comments: without its arguments, which may hold secrets. */
final class Process {
    private Process() {
    }

    static String told() {
        String command = System.getProperty("sun.java.command", "?").trim().split("\\s")[0];
        Path name = Paths.get(command).getFileName();
        String version = System.getProperty("java.version", "?");
        return "process " + id() + " (" + name + ", Java " + version + ") on " + host();
    }

    private static String id() {
        try {
            return Paths.get("/proc/self").toRealPath().getFileName().toString();
        } catch (IOException elsewhere) {
            return "?";
        }
    }

    private static String host() {
        try {
            return new String(Files.readAllBytes(Paths.get("/proc/sys/kernel/hostname")), StandardCharsets.UTF_8).trim();
        } catch (IOException elsewhere) {
            return "?";
        }
    }
}
