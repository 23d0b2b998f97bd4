package kdissect.tap.inner;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Writes a pcapng section with one interface of link type RAW: synthetic TCP (draft-ietf-opsawg-pcapng section 4). The
 * checksums of TCP are left 0.
 */
final class Pcapng {
    static final int FIN = 1;
    static final int SYN = 2;
    static final int PUSH = 8;
    static final int ACK = 16;

    private static final int RAW = 101; // LINKTYPE_RAW
    private static final int TCP_HEADER = 20;
    private final OutputStream out;
    private final ByteBuffer head = ByteBuffer.allocate(256).order(ByteOrder.LITTLE_ENDIAN);
    private long written;

    Pcapng(OutputStream out) {
        this.out = out;
    }

    /** Bytes so far. */
    long written() {
        return written;
    }

    void begin(String comment, String application, String name) throws IOException {
        ByteBuffer body = block();
        body.putInt(0x1A2B3C4D).putShort((short) 1).putShort((short) 0).putLong(-1);
        option(body, 1, text(comment)); // opt_comment
        option(body, 4, text(application)); // shb_userappl
        finish(0x0A0D0D0A, body);
        body = block();
        body.putShort((short) RAW).putShort((short) 0).putInt(0);
        option(body, 2, text(name)); // if_name
        option(body, 9, new byte[] {9}); // if_tsresol: nanoseconds
        finish(1, body);
    }

    void statistics(long time, long drops) throws IOException {
        ByteBuffer body = block();
        body.putInt(0).putInt((int) (time >>> 32)).putInt((int) time);
        body.putShort((short) 5).putShort((short) 8).putLong(drops).putInt(0); // isb_ifdrop
        finish(5, body);
    }

    void packet(long time, Wire wire, int direction, int flags, int seq, int ack, byte[] data, String comment)
            throws IOException {
        boolean wide = wire.here.length == 16;
        int ip = wide ? 40 : 20;
        int length = ip + TCP_HEADER + data.length;
        int padding = -length & 3;
        byte[] told = comment == null ? null : text(comment);
        int options = told == null ? 0 : 4 + told.length + (-told.length & 3) + 4;
        int total = 32 + length + padding + options;
        head.clear();
        head.order(ByteOrder.LITTLE_ENDIAN);
        head.putInt(6).putInt(total).putInt(0).putInt((int) (time >>> 32)).putInt((int) time).putInt(length).putInt(length);
        head.order(ByteOrder.BIG_ENDIAN);
        byte[] from = direction == Wire.OUT ? wire.here : wire.there;
        byte[] to = direction == Wire.OUT ? wire.there : wire.here;
        if (wide) {
            head.putInt(0x60000000).putShort((short) (length - ip)).put((byte) 6).put((byte) 64).put(from).put(to);
        } else {
            narrow(from, to, length);
        }
        int port = direction == Wire.OUT ? wire.port : wire.remotePort;
        int other = direction == Wire.OUT ? wire.remotePort : wire.port;
        head.putShort((short) port).putShort((short) other).putInt(seq).putInt(ack);
        head.putShort((short) (0x5000 | flags)).putShort((short) 0xffff).putInt(0);
        head.order(ByteOrder.LITTLE_ENDIAN);
        flushHead();
        out.write(data);
        written += data.length;
        head.clear();
        for (int index = 0; index < padding; index++) {
            head.put((byte) 0);
        }
        if (told != null) {
            flushHead();
            ByteBuffer body = ByteBuffer.allocate(options).order(ByteOrder.LITTLE_ENDIAN);
            option(body, 1, told);
            body.putInt(0);
            out.write(body.array());
            written += options;
            head.clear();
        }
        head.putInt(total);
        flushHead();
    }

    /** RFC 791 section 3.1. */
    private void narrow(byte[] from, byte[] to, int length) {
        int start = head.position();
        head.putShort((short) 0x4500).putShort((short) length).putInt(0x4000).putShort((short) 0x4006).putShort((short) 0);
        head.put(from).put(to);
        int sum = 0;
        for (int at = start; at < head.position(); at += 2) {
            sum += head.getShort(at) & 0xffff;
        }
        sum = (sum & 0xffff) + (sum >>> 16);
        sum = (sum & 0xffff) + (sum >>> 16);
        head.putShort(start + 10, (short) ~sum);
    }

    private void flushHead() throws IOException {
        out.write(head.array(), 0, head.position());
        written += head.position();
    }

    private static ByteBuffer block() {
        return ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] text(String text) {
        byte[] all = (text.length() > 300 ? text.substring(0, 300) : text).getBytes(StandardCharsets.UTF_8);
        return all;
    }

    private static void option(ByteBuffer body, int code, byte[] value) {
        body.putShort((short) code).putShort((short) value.length).put(value);
        for (int index = -value.length & 3; index > 0; index--) {
            body.put((byte) 0);
        }
    }

    private void finish(int kind, ByteBuffer body) throws IOException {
        if (kind != 5) {
            body.putInt(0);
        }
        int total = body.position() + 12;
        ByteBuffer ends = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
        ends.putInt(kind).putInt(total);
        out.write(ends.array());
        out.write(body.array(), 0, body.position());
        out.write(ends.array(), 4, 4);
        written += total;
    }
}
