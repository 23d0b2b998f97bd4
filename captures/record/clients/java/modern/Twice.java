import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * One idempotent batch twice in one request, which Apache Kafka 0.11.0 refuses with DUPLICATE_SEQUENCE_NUMBER. A Produce of version 2
 * alone may hold two batches of a partition, so its bytes are written here: clients from 4.0 on do not know it.
 */
public final class Twice implements Action {
    private static final short PRODUCE = 0;
    private static final short INIT_PRODUCER_ID = 22;

    private DataOutputStream out;
    private DataInputStream in;
    private String clientId;
    private String topic;
    private long producerId;
    private short epoch;
    private int next;

    @Override
    public void run(Options options) throws Exception {
        clientId = options.text("client-id", "twice");
        topic = options.text("topic", "topic");
        String[] place = options.bootstrap.split(":");
        try (Socket socket = new Socket(place[0], Integer.parseInt(place[1]))) {
            out = new DataOutputStream(socket.getOutputStream());
            in = new DataInputStream(socket.getInputStream());
            begin();
            produce("in order", 0);
            produce("in order", 1);
            produce("again", 1);
            produce("long ago", 0);
            produce("twice in one request", 2, 2);
            produce("in order", 2);
        }
    }

    private void begin() throws Exception {
        ByteBuffer answer = ask(INIT_PRODUCER_ID, (short) 0, ByteBuffer.allocate(6).putShort((short) -1).putInt(60_000).array());
        answer.position(6); // throttle time, error code
        producerId = answer.getLong();
        epoch = answer.getShort();
        Say.event("began", "producer", producerId, "epoch", epoch);
    }

    private void produce(String step, int... sequences) throws Exception {
        ByteArrayOutputStream records = new ByteArrayOutputStream();
        for (int sequence : sequences) {
            ByteBuffer batch = MemoryRecords.withIdempotentRecords(Compression.NONE, producerId, epoch, sequence,
                    new SimpleRecord(1_760_000_000_000L, ("value-" + sequence).getBytes(StandardCharsets.US_ASCII))).buffer();
            records.write(batch.array(), batch.arrayOffset() + batch.position(), batch.remaining());
        }
        byte[] name = topic.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer body = ByteBuffer.allocate(24 + name.length + records.size());
        body.putShort((short) -1).putInt(5000).putInt(1).putShort((short) name.length).put(name);
        body.putInt(1).putInt(0).putInt(records.size()).put(records.toByteArray());
        ByteBuffer answer = ask(PRODUCE, (short) 2, body.array());
        answer.position(4 + 2 + name.length + 4 + 4); // topics, the name, partitions, the index
        Say.event("answered", "call", "produce", "step", step, "error", Errors.forCode(answer.getShort()).name());
    }

    private ByteBuffer ask(short key, short version, byte[] body) throws Exception {
        byte[] client = clientId.getBytes(StandardCharsets.US_ASCII);
        out.writeInt(10 + client.length + body.length);
        out.writeShort(key);
        out.writeShort(version);
        out.writeInt(next++);
        out.writeShort(client.length);
        out.write(client);
        out.write(body);
        out.flush();
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        return ByteBuffer.wrap(answer, 4, answer.length - 4).slice();
    }
}
