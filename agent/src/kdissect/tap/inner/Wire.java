package kdissect.tap.inner;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;

/** One connection: its addresses, how far both directions are, and the call that moves bytes just now. */
final class Wire {
    static final int OUT = 0;
    static final int IN = 1;
    /** Bytes of the size before a frame. */
    static final int SIZE = 4;
    private static final int MAX_FRAME = 104857600; // socket.request.max.bytes, by default

    final SocketChannel channel;
    /** Whether its beginning was seen. */
    final boolean fresh;
    /** Sequence numbers of the next bytes, out and in. */
    final int[] next;
    /** Those of its first bytes. */
    final int[] start;
    byte[] here;
    byte[] there;
    int port;
    int remotePort;
    /** Not recorded: its addresses are not known, or its other end is in this JVM and recorded. */
    boolean muted;
    /** The name of the thread that moved the first bytes, and their direction. */
    String thread;
    int first;
    /** Used by the writing thread alone: whether packets of it are written. */
    boolean written;
    boolean[] ended = new boolean[2];
    /** Whether a frame began since we look, by direction: of one under way the end says nothing. */
    private final boolean[] begun = new boolean[2];
    /** The size of a frame whose first bytes are still to come, by direction; null if there is none. */
    final byte[][] held = new byte[2][];

    private ByteBuffer one;
    private ByteBuffer[] many;
    private int[] positions;
    private int offset;
    private FileChannel file;
    private long position;

    Wire(SocketChannel channel, boolean fresh) {
        this.channel = channel;
        this.fresh = fresh;
        int number = (int) (System.nanoTime() >> 4) + System.identityHashCode(channel) * 31;
        this.start = new int[] {number, number + 0x40000000};
        this.next = start.clone();
    }

    void begins(ByteBuffer buffer) {
        forget();
        one = buffer;
        position = buffer.position();
    }

    void begins(ByteBuffer[] buffers, int from, int length) {
        forget();
        int[] where = new int[length];
        for (int index = 0; index < length; index++) {
            where[index] = buffers[from + index].position();
        }
        offset = from;
        positions = where;
        many = buffers;
    }

    void begins(FileChannel from, long where) {
        forget();
        file = from;
        position = where;
    }

    /** Give what the call moved to `taker`: by the positions of its buffers, of a file as many as it says. */
    void ends(Taker taker, int direction, long count) {
        ByteBuffer buffer = one;
        ByteBuffer[] buffers = many;
        int[] where = positions;
        FileChannel from = file;
        long start = position;
        forget();
        if (buffer != null) {
            part(taker, direction, buffer, (int) start);
        } else if (buffers != null) {
            for (int index = 0; index < where.length; index++) {
                part(taker, direction, buffers[offset + index], where[index]);
            }
        } else if (from != null && count > 0 && (fresh || begun[direction])) {
            taker.take(this, direction, from, start, count);
        }
    }

    private void part(Taker taker, int direction, ByteBuffer buffer, int start) {
        int end = buffer.position();
        if (end > start) {
            ByteBuffer moved = buffer.duplicate();
            moved.limit(end);
            moved.position(start);
            if (isBegun(direction, moved, buffer.limit())) {
                taker.take(this, direction, moved);
            }
        }
    }

    /**
     * Whether what was moved is behind the beginning of a frame, or begins one: Kafka reads sizes into buffers of their own, and sends
     * a frame as a buffer that begins with its size and holds the frame or its first part. `end` is where that buffer ends.
     */
    private boolean isBegun(int direction, ByteBuffer moved, int end) {
        if (!fresh && !begun[direction] && moved.position() == 0) {
            if (moved.capacity() == SIZE) {
                begun[direction] = true;
            } else if (direction == OUT && moved.limit() >= SIZE) {
                int size = moved.getInt(0);
                begun[direction] = size >= end - SIZE && size > 0 && size <= MAX_FRAME;
            }
        }
        return fresh || begun[direction];
    }

    private void forget() {
        one = null;
        many = null;
        positions = null;
        file = null;
    }

    /** Whether its addresses are known; asks for them once. */
    boolean isPlaced() {
        if (here == null && !muted) {
            muted = !place();
        }
        return !muted;
    }

    private boolean place() {
        try {
            SocketAddress local = channel.getLocalAddress();
            SocketAddress remote = channel.getRemoteAddress();
            if (!(local instanceof InetSocketAddress) || !(remote instanceof InetSocketAddress)) {
                return false;
            }
            byte[] from = address((InetSocketAddress) local);
            byte[] to = address((InetSocketAddress) remote);
            if (from.length != to.length) {
                from = mapped(from);
                to = mapped(to);
            }
            port = ((InetSocketAddress) local).getPort();
            remotePort = ((InetSocketAddress) remote).getPort();
            there = to;
            here = from;
            return true;
        } catch (Exception closed) {
            return false;
        }
    }

    private static byte[] address(InetSocketAddress from) {
        InetAddress address = from.getAddress();
        return address.getAddress();
    }

    /** RFC 4291 section 2.5.5.2. */
    private static byte[] mapped(byte[] address) {
        if (address.length == 16) {
            return address;
        }
        byte[] wide = new byte[16];
        wide[10] = (byte) 0xff;
        wide[11] = (byte) 0xff;
        System.arraycopy(address, 0, wide, 12, 4);
        return wide;
    }

    /** What both ends of one connection have alike. */
    String ends() {
        String local = name(here, port);
        String remote = name(there, remotePort);
        return local.compareTo(remote) < 0 ? local + remote : remote + local;
    }

    private static String name(byte[] address, int port) {
        StringBuilder name = new StringBuilder();
        for (byte each : address) {
            name.append((char) (each & 0xff));
        }
        return name.append((char) port).toString();
    }

    /** Takes what was moved. */
    interface Taker {
        /** The bytes between position and limit. */
        void take(Wire wire, int direction, ByteBuffer moved);

        /** Bytes of a file. */
        void take(Wire wire, int direction, FileChannel file, long position, long count);
    }
}
