package kdissect.tap.inner;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

/** Where the packets go: a file, a named pipe, or a socket of whoever attached. */
abstract class Sink {
    private static final int BUFFER = 1 << 16;
    private static final int IDLE_MS = 10;

    /** Raises IOException where it cannot be had. */
    static Sink of(Options options) throws IOException {
        if (options.port != 0) {
            return new Peer(options);
        }
        Path path = Paths.get(options.file);
        return Files.exists(path) && !Files.isRegularFile(path) ? new Pipe(options.file) : new Whole(path);
    }

    /** Say how the beginning went: "ok", or why there is none. */
    void answer(String text) throws IOException {
        // Nobody waits for it.
    }

    /** Called by the writing thread; may wait. */
    abstract OutputStream open() throws IOException;

    /** Wait a little; false when whoever reads wants no more. */
    boolean isWanted() throws IOException {
        try {
            Thread.sleep(IDLE_MS);
            return true;
        } catch (InterruptedException ends) {
            return false;
        }
    }

    /** Whether the end of the sink is the ordinary end of the tap. */
    boolean endsQuietly() {
        return false;
    }

    abstract void close();

    private static void shut(AutoCloseable what) {
        try {
            if (what != null) {
                what.close();
            }
        } catch (Exception gone) {
            // It is closed, or as good as.
        }
    }

    private static final class Whole extends Sink {
        private final OutputStream out;

        Whole(Path path) throws IOException {
            Set<java.nio.file.OpenOption> how = new java.util.HashSet<>();
            how.addAll(EnumSet.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING));
            how.add(LinkOption.NOFOLLOW_LINKS);
            boolean isPosix = path.getFileSystem().supportedFileAttributeViews().contains("posix");
            out = Channels.newOutputStream(isPosix
                    ? Files.newByteChannel(path, how, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))
                    : Files.newByteChannel(path, how));
            if (isPosix) {
                Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
            }
        }

        @Override
        OutputStream open() {
            return new BufferedOutputStream(out, BUFFER);
        }

        @Override
        void close() {
            shut(out);
        }
    }

    private static final class Pipe extends Sink {
        private final String path;
        private OutputStream out;

        Pipe(String path) {
            this.path = path;
        }

        @Override
        OutputStream open() throws IOException {
            out = new FileOutputStream(path);
            return new BufferedOutputStream(out, BUFFER);
        }

        @Override
        void close() {
            shut(out);
        }
    }

    private static final class Peer extends Sink {
        private final Socket socket;
        private final InputStream in;
        private final String token;

        Peer(Options options) throws IOException {
            socket = new Socket(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), options.port);
            socket.setSoTimeout(IDLE_MS);
            in = socket.getInputStream();
            token = options.token;
        }

        @Override
        void answer(String text) throws IOException {
            String line = token + " " + text.replace('\n', ' ') + "\n";
            socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        OutputStream open() throws IOException {
            return new BufferedOutputStream(socket.getOutputStream(), BUFFER);
        }

        @Override
        boolean isWanted() throws IOException {
            try {
                return in.read() >= 0;
            } catch (SocketTimeoutException nothing) {
                return true; // nothing is said on this side
            }
        }

        @Override
        boolean endsQuietly() {
            return true;
        }

        @Override
        void close() {
            shut(socket);
        }
    }
}
