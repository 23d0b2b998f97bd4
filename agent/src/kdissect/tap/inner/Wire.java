package kdissect.tap.inner;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** One connection: its addresses, how far both directions are, and the calls that move bytes just now. */
abstract class Wire {
    static final int OUT = 0;
    static final int IN = 1;
    /** Bytes of the size before a frame. */
    static final int SIZE = 4;
    static final int MAX_FRAME = 104857600; // socket.request.max.bytes, by default

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
    /** The size of a frame whose first bytes are still to come, by direction; null if there is none. */
    final byte[][] held = new byte[2][];

    private final Call[] calls = {new Call(), new Call()};

    Wire(boolean fresh) {
        this.fresh = fresh;
        int number = (int) (System.nanoTime() >> 4) + System.identityHashCode(this) * 31;
        this.start = new int[] {number, number + 0x40000000};
        this.next = start.clone();
    }

    /** Whether it may still move bytes. */
    abstract boolean isOpen();

    /** Learn the addresses; whether they can be had. */
    abstract boolean place();

    /** What else is to be said of it; empty if nothing. */
    abstract String note();

    /** Take bytes that were moved, if it is known what they are. `end` is where their buffer ends. */
    abstract void moved(Taker taker, int direction, ByteBuffer moved, int end);

    /** The call that moves bytes just now. There may be one each way where threads share a connection; else one, in the first place. */
    Call call(int place) {
        return calls[place];
    }

    /** Give what a call moved to `taker`: by the positions of its buffers, of a file as many as it says. */
    void ends(Taker taker, int place, int direction, long count) {
        Call call = calls[place];
        ByteBuffer buffer = call.one;
        ByteBuffer[] buffers = call.many;
        int[] where = call.positions;
        FileChannel from = call.file;
        long start = call.position;
        call.forget();
        if (buffer != null) {
            part(taker, direction, buffer, (int) start);
        } else if (buffers != null) {
            for (int index = 0; index < where.length; index++) {
                part(taker, direction, buffers[call.offset + index], where[index]);
            }
        } else if (from != null && count > 0 && isBegun(direction)) {
            taker.take(this, direction, from, start, count);
        }
    }

    private void part(Taker taker, int direction, ByteBuffer buffer, int start) {
        int end = buffer.position();
        if (end > start) {
            ByteBuffer moved = buffer.duplicate();
            moved.limit(end);
            moved.position(start);
            moved(taker, direction, moved, buffer.limit());
        }
    }

    /** Whether a frame began in this direction since we look, so that all that follows is told. */
    abstract boolean isBegun(int direction);

    /** Whether its addresses are known; asks for them once. */
    boolean isPlaced() {
        if (here == null && !muted) {
            muted = !place();
        }
        return !muted;
    }

    final boolean isPlaced(SocketAddress local, SocketAddress remote) {
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

    /** A call that moves bytes: of which buffers or file, and from where on. */
    static final class Call {
        private ByteBuffer one;
        private ByteBuffer[] many;
        private int[] positions;
        private int offset;
        private FileChannel file;
        private long position;

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

        private void forget() {
            one = null;
            many = null;
            positions = null;
            file = null;
        }
    }

    /** Takes what was moved. */
    interface Taker {
        /** Nanoseconds since 1970. */
        long now();

        /** The bytes between position and limit. */
        void take(Wire wire, int direction, ByteBuffer moved, long time);

        /** Bytes of a file. */
        void take(Wire wire, int direction, FileChannel file, long position, long count);
    }
}
