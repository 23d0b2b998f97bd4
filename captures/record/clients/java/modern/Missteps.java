import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Requests no client sends of its own accord: sequences that leave a gap or go back, and fetch sessions used wrongly. With
 * --transactional-id instead a batch of a transaction whose coordinator is not told of the partition, so that nobody ends it.
 */
public final class Missteps implements Action {
    private static final short PRODUCE = 12;
    private static final short FETCH = 12;
    private static final int BATCHES_REMEMBERED = 5; // by the broker, of each producer

    private DataOutputStream out;
    private DataInputStream in;
    private String clientId;
    private String topic;
    private int next;

    @Override
    public void run(Options options) throws Exception {
        clientId = options.text("client-id", "missteps");
        topic = options.text("topic", "topic");
        String[] place = options.bootstrap.split(":");
        try (Socket socket = new Socket(place[0], Integer.parseInt(place[1]))) {
            out = new DataOutputStream(socket.getOutputStream());
            in = new DataInputStream(socket.getInputStream());
            if (options.text("transactional-id", null) == null) {
                sequences();
                sessions();
            } else {
                hang(options.text("transactional-id", null));
            }
        }
    }

    private void sequences() throws Exception {
        InitProducerIdRequestData wanted = new InitProducerIdRequestData().setTransactionalId(null)
                .setTransactionTimeoutMs(60_000);
        InitProducerIdResponse given = (InitProducerIdResponse) ask(ApiKeys.INIT_PRODUCER_ID, (short) 4,
                new InitProducerIdRequest.Builder(wanted).build((short) 4));
        for (int sequence = 0; sequence <= BATCHES_REMEMBERED; sequence++) {
            produce("in order", given, sequence);
        }
        produce("gap", given, BATCHES_REMEMBERED + 4);
        produce("again", given, BATCHES_REMEMBERED);
        produce("long ago", given, 0);
        produce("in order", given, BATCHES_REMEMBERED + 1);
    }

    /** Before version 12 of Produce the client tells the coordinator of its partitions itself (KIP-890). */
    private void hang(String id) throws Exception {
        InitProducerIdRequestData wanted = new InitProducerIdRequestData().setTransactionalId(id).setTransactionTimeoutMs(60_000);
        InitProducerIdResponse given = (InitProducerIdResponse) ask(ApiKeys.INIT_PRODUCER_ID, (short) 4,
                new InitProducerIdRequest.Builder(wanted).build((short) 4));
        say("init", "transactional id", given);
        MemoryRecords records = MemoryRecords.withTransactionalRecords(Compression.NONE, given.data().producerId(),
                given.data().producerEpoch(), 0, new SimpleRecord(1_760_000_000_000L, "hangs".getBytes()));
        produce("untold", id, records, (short) (PRODUCE - 1));
        EndTxnRequestData end = new EndTxnRequestData().setTransactionalId(id).setProducerId(given.data().producerId())
                .setProducerEpoch(given.data().producerEpoch()).setCommitted(true);
        say("end", "commit", ask(ApiKeys.END_TXN, (short) 3, new EndTxnRequest.Builder(end, false).build((short) 3)));
        Say.event("hangs", "id", id, "producer", given.data().producerId(), "epoch", given.data().producerEpoch());
    }

    private void produce(String what, InitProducerIdResponse given, int sequence) throws Exception {
        MemoryRecords records = MemoryRecords.withIdempotentRecords(Compression.NONE, given.data().producerId(),
                given.data().producerEpoch(), sequence, new SimpleRecord(1_760_000_000_000L, ("value-" + sequence).getBytes()));
        produce(what, null, records, PRODUCE);
    }

    private void produce(String what, String id, MemoryRecords records, short version) throws Exception {
        ProduceRequestData.PartitionProduceData partition = new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(records);
        ProduceRequestData.TopicProduceDataCollection topics = new ProduceRequestData.TopicProduceDataCollection();
        topics.add(new ProduceRequestData.TopicProduceData().setName(topic).setPartitionData(Collections.singletonList(partition)));
        ProduceRequestData data = new ProduceRequestData().setTransactionalId(id).setAcks((short) -1).setTimeoutMs(5000)
                .setTopicData(topics);
        AbstractResponse answer = ask(ApiKeys.PRODUCE, version, new ProduceRequest(data, version));
        say("produce", what, answer);
    }

    private void sessions() throws Exception {
        FetchResponse first = fetch("new session", 0, 0);
        fetch("next epoch", first.sessionId(), 1);
        fetch("epoch of later", first.sessionId(), 7);
        fetch("unknown session", first.sessionId() + 1, 1);
        fetch("closed", first.sessionId(), -1);
        fetch("after close", first.sessionId(), 2);
    }

    private FetchResponse fetch(String what, int session, int epoch) throws Exception {
        FetchRequestData.FetchPartition partition = new FetchRequestData.FetchPartition().setPartition(0).setFetchOffset(0)
                .setPartitionMaxBytes(1000);
        List<FetchRequestData.FetchTopic> topics = Collections.singletonList(
                new FetchRequestData.FetchTopic().setTopic(topic).setPartitions(Collections.singletonList(partition)));
        FetchRequestData data = new FetchRequestData().setMaxWaitMs(100).setMinBytes(1).setMaxBytes(1000)
                .setSessionId(session).setSessionEpoch(epoch).setTopics(epoch == 0 ? topics : Collections.emptyList());
        FetchResponse answer = (FetchResponse) ask(ApiKeys.FETCH, FETCH, new FetchRequest(data, FETCH));
        say("fetch", what, answer);
        return answer;
    }

    private static void say(String call, String what, AbstractResponse answer) {
        Errors error = Errors.NONE;
        for (Errors one : answer.errorCounts().keySet()) {
            error = one == Errors.NONE ? error : one;
        }
        Say.event("answered", "call", call, "step", what, "error", error.name());
    }

    private AbstractResponse ask(ApiKeys key, short version, AbstractRequest request) throws Exception {
        RequestHeader header = new RequestHeader(key, version, clientId, next++);
        ByteBuffer bytes = request.serializeWithHeader(header);
        out.writeInt(bytes.remaining());
        out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
        out.flush();
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        return AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header);
    }
}
