package kdissect.tap.inner;

import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.AccessController;
import java.security.PrivilegedAction;

/** A connection of Kafka's transport layers. */
final class ChannelWire extends Wire {
    private final SocketChannel channel;
    /** By direction: of a frame under way when the tap begins the end says nothing. */
    private final boolean[] begun = new boolean[2];

    ChannelWire(SocketChannel channel, boolean fresh) {
        super(fresh);
        this.channel = channel;
    }

    @Override
    boolean isOpen() {
        return channel.isOpen();
    }

    /** A security manager would hide the addresses from what the application itself may not know. */
    @Override
    boolean place() {
        return AccessController.doPrivileged(new PrivilegedAction<Boolean>() {
            @Override
            public Boolean run() {
                try {
                    return isPlaced(channel.getLocalAddress(), channel.getRemoteAddress());
                } catch (Exception closed) {
                    return false;
                }
            }
        });
    }

    @Override
    String note() {
        return "";
    }

    @Override
    boolean isBegun(int direction) {
        return fresh || begun[direction];
    }

    /**
     * Kafka reads sizes into buffers of their own, and sends a frame as a buffer that begins with its size and holds the frame or its
     * first part.
     */
    @Override
    void moved(Taker taker, int direction, ByteBuffer moved, int end) {
        if (!isBegun(direction) && moved.position() == 0) {
            if (moved.capacity() == SIZE) {
                begun[direction] = true;
            } else if (direction == OUT && moved.limit() >= SIZE) {
                int size = moved.getInt(0);
                begun[direction] = size >= end - SIZE && size > 0 && size <= MAX_FRAME;
            }
        }
        if (isBegun(direction)) {
            taker.take(this, direction, moved, taker.now());
        }
    }
}
