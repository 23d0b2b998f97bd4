package kdissect.tap.inner;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** Where the packets go: a file, a named pipe, who connects to a port, or a socket of whoever attached. */
abstract class Sink {
    private static final int BUFFER = 1 << 16;
    private static final int IDLE_MS = 10;
    private static final int LOOK_MS = 200;
    private static final int TOKEN_MS = 5000;
    private static final InetAddress LOOPBACK = loopback();

    /** Raises IOException where it cannot be had. */
    static Sink of(Options options, BooleanSupplier ends) throws IOException {
        if (options.connect != 0) {
            return new Peer(options);
        }
        if (options.listen != 0) {
            return new Listener(options, ends);
        }
        Path path = Paths.get(options.file);
        return Files.exists(path) && !Files.isRegularFile(path) ? new Pipe(path) : new Whole(path);
    }

    private static InetAddress loopback() {
        try {
            return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        } catch (UnknownHostException never) {
            throw new IllegalStateException(never);
        }
    }

    /** Say how the beginning went: "ok", or why there is none. */
    void answer(String text) throws IOException {
        // Nobody waits for it.
    }

    /** Called by the writing thread; may wait. Null where nobody came before the end. */
    abstract OutputStream open() throws IOException;

    /** Whether others may come when a reader has left. */
    boolean isForMany() {
        return false;
    }

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

    /** Wait a little; whether the other side has not ended. */
    private static boolean isThere(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read() >= 0;
        } catch (SocketTimeoutException nothing) {
            return true; // nothing is said on that side
        }
    }

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
        private final Path path;
        private volatile OutputStream out;

        Pipe(Path path) {
            this.path = path;
        }

        @Override
        OutputStream open() throws IOException {
            out = Channels.newOutputStream(FileChannel.open(path, StandardOpenOption.WRITE)); // makes none where it is gone
            return new BufferedOutputStream(out, BUFFER);
        }

        /** Where no reader has come, the thread that waits for one is let go by one that comes and leaves. */
        @Override
        void close() {
            if (out == null) {
                try {
                    FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE).close();
                } catch (IOException gone) {
                    return;
                }
            }
            shut(out);
        }
    }

    /** One reader at a time, each from where it comes; those that do not know the token, if there is one, are sent away. */
    private static final class Listener extends Sink {
        private final ServerSocket server;
        private final byte[] token;
        private final BooleanSupplier ends;
        private volatile Socket reader;

        Listener(Options options, BooleanSupplier ends) throws IOException {
            this.ends = ends;
            server = new ServerSocket(options.listen, 1, LOOPBACK);
            server.setSoTimeout(LOOK_MS);
            token = options.token.isEmpty() ? new byte[0] : (options.token + "\n").getBytes(StandardCharsets.UTF_8);
        }

        @Override
        boolean isForMany() {
            return true;
        }

        @Override
        OutputStream open() throws IOException {
            shut(reader);
            while (!ends.getAsBoolean()) {
                try {
                    reader = server.accept();
                    if (isKnown(reader)) {
                        reader.setSoTimeout(IDLE_MS);
                        return new BufferedOutputStream(reader.getOutputStream(), BUFFER);
                    }
                    shut(reader);
                } catch (SocketTimeoutException nobody) {
                    continue;
                }
            }
            return null;
        }

        private boolean isKnown(Socket who) {
            byte[] said = new byte[token.length];
            try {
                who.setSoTimeout(TOKEN_MS);
                for (int at = 0; at < said.length;) {
                    int count = who.getInputStream().read(said, at, said.length - at);
                    if (count < 0) {
                        return false;
                    }
                    at += count;
                }
            } catch (IOException silent) {
                return false;
            }
            return MessageDigest.isEqual(said, token);
        }

        @Override
        boolean isWanted() throws IOException {
            return isThere(reader);
        }

        @Override
        void close() {
            shut(server);
            shut(reader);
        }
    }

    private static final class Peer extends Sink {
        private final Socket socket;
        private final String token;

        Peer(Options options) throws IOException {
            socket = new Socket(LOOPBACK, options.connect);
            socket.setSoTimeout(IDLE_MS);
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
            return isThere(socket);
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
