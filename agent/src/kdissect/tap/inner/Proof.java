package kdissect.tap.inner;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Whether the bytes of a connection are Kafka: a request, and the answer that bears its correlation id. What was looked at is kept
 * until that is known, and not more of it than MOST_BYTES.
 */
final class Proof {
    /** What is known so far. */
    enum Known {
        NOTHING, YES, NO
    }

    private static final int MOST_BYTES = 65536;
    /** Size, API key, API version, correlation id and the length of the client id. */
    private static final int HEADER = 14;
    private static final int ANSWER = 8;
    // What a request may have, as loosely as future releases need it.
    private static final int MAX_KEY = 255;
    private static final int MAX_VERSION = 63;
    private static final int MAX_CLIENT_ID = 4096;

    private final boolean fresh;
    private final List<Piece> held = new ArrayList<>();
    private int bytes;
    private int client = -1;
    /** Of the client's requests. */
    private final Set<Integer> ids = new HashSet<>();
    private final byte[] header = new byte[HEADER];
    private int filled;
    private long skip;
    private byte[] answer = new byte[0];
    /** Of a connection that was open: a size that came alone, by direction. */
    private final byte[][] size = new byte[2][];

    Proof(boolean fresh) {
        this.fresh = fresh;
    }

    /** Look at bytes that were moved; leaves `moved` as it is. */
    Known look(int direction, ByteBuffer moved, long time) {
        byte[] data = new byte[Math.min(moved.remaining(), MOST_BYTES + 1)];
        moved.duplicate().get(data);
        Known known = fresh ? ofFresh(direction, data, time) : ofOpen(direction, data, time);
        if (bytes <= MOST_BYTES || known == Known.YES) {
            return known;
        }
        forget();
        return fresh ? Known.NO : Known.NOTHING;
    }

    /** Hand over what was kept. */
    void give(Wire wire, Wire.Taker taker) {
        for (Piece piece : held) {
            taker.take(wire, piece.direction, ByteBuffer.wrap(piece.data), piece.time);
        }
    }

    /** From its first byte on: who speaks first is the client, and the first answer is that of the first request. */
    private Known ofFresh(int direction, byte[] data, long time) {
        hold(direction, data, time);
        if (client < 0) {
            client = direction;
        }
        if (direction == client) {
            return isFollowed(data) ? Known.NOTHING : Known.NO;
        }
        answer = joined(answer, data, ANSWER);
        if (ids.isEmpty()) {
            return Known.NO;
        }
        return answer.length < ANSWER ? Known.NOTHING : isAnswer(answer) ? Known.YES : Known.NO;
    }

    /** From where a request begins, and then the answer to one of those that were seen. */
    private Known ofOpen(int direction, byte[] data, long time) {
        byte[] whole = joined(size[direction], data, Integer.MAX_VALUE);
        size[direction] = data.length == Wire.SIZE ? data : null;
        if (client < 0) {
            if (isRequest(whole)) {
                client = direction;
                hold(direction, whole, time);
                isFollowed(whole);
            }
            return Known.NOTHING;
        }
        if (direction == client) {
            hold(direction, data, time);
            if (!isFollowed(data)) {
                forget();
            }
            return Known.NOTHING;
        }
        if (whole.length < ANSWER || !isAnswer(whole)) {
            return Known.NOTHING;
        }
        hold(direction, whole, time);
        return Known.YES;
    }

    private void hold(int direction, byte[] data, long time) {
        held.add(new Piece(direction, data, time));
        bytes += data.length;
    }

    private void forget() {
        held.clear();
        ids.clear();
        bytes = 0;
        client = -1;
        filled = 0;
        skip = 0;
    }

    /** Follow the requests by their sizes, and learn their correlation ids; false where they are none. */
    private boolean isFollowed(byte[] data) {
        for (int at = 0; at < data.length;) {
            if (skip > 0) {
                int step = (int) Math.min(skip, data.length - at);
                skip -= step;
                at += step;
                continue;
            }
            header[filled++] = data[at++];
            if (filled == HEADER) {
                if (!isRequest(header)) {
                    return false;
                }
                ByteBuffer fields = ByteBuffer.wrap(header);
                ids.add(fields.getInt(8));
                skip = fields.getInt(0) + Wire.SIZE - HEADER;
                filled = 0;
            }
        }
        return true;
    }

    /** Request header v1 and later: size, request_api_key, request_api_version, correlation_id, length of client_id. */
    private static boolean isRequest(byte[] data) {
        if (data.length < HEADER) {
            return false;
        }
        ByteBuffer fields = ByteBuffer.wrap(data);
        int length = fields.getInt();
        int key = fields.getShort();
        int version = fields.getShort();
        fields.getInt();
        int name = fields.getShort();
        return length >= HEADER - Wire.SIZE && length <= Wire.MAX_FRAME && key >= 0 && key <= MAX_KEY
                && version >= 0 && version <= MAX_VERSION && name >= -1 && name <= MAX_CLIENT_ID
                && name <= length + Wire.SIZE - HEADER;
    }

    private boolean isAnswer(byte[] data) {
        ByteBuffer fields = ByteBuffer.wrap(data);
        int length = fields.getInt();
        return length >= Wire.SIZE && length <= Wire.MAX_FRAME && ids.contains(fields.getInt());
    }

    private static byte[] joined(byte[] first, byte[] second, int most) {
        int before = first == null ? 0 : first.length;
        byte[] both = new byte[Math.min(before + second.length, most)];
        System.arraycopy(second, 0, both, before, both.length - before);
        if (first != null) {
            System.arraycopy(first, 0, both, 0, before);
        }
        return both;
    }

    private static final class Piece {
        private final int direction;
        private final byte[] data;
        private final long time;

        Piece(int direction, byte[] data, long time) {
            this.direction = direction;
            this.data = data;
            this.time = time;
        }
    }
}
