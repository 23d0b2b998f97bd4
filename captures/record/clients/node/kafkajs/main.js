// Driver of kafkajs.
import kafkajs from "kafkajs";
import { administer } from "./administration.js";
import { emit, main, outcome, story, tell } from "./driving.js";

const { Kafka, CompressionTypes, logLevel } = kafkajs;
const ACKS = { 0: 0, 1: 1, all: -1 };
const MECHANISMS = { PLAIN: "plain", "SCRAM-SHA-256": "scram-sha-256", "SCRAM-SHA-512": "scram-sha-512" };

/** A client with its id, and SASL when asked for. */
function connect(bootstrap, options, clientId = options["client-id"]) {
  const sasl = options.sasl && { mechanism: MECHANISMS[options.sasl], username: options.user, password: options.password };
  const brokers = bootstrap.split(",");
  return new Kafka({ clientId, brokers, sasl, logLevel: logLevel.NOTHING, retry: { retries: 8, initialRetryTime: 200 } });
}

/** Write the story with --acks and --codec. */
async function produce(bootstrap, options) {
  const producer = connect(bootstrap, options).producer({
    allowAutoTopicCreation: true,
    idempotent: options.idempotent === "yes",
    createPartitioner: () => ({ message }) => message.partition,
  });
  await producer.connect();
  await write(producer, options);
  await producer.disconnect();
}

/** Send the story with a producer or a transaction and print the offsets the broker gave. */
async function write(producer, options) {
  const records = story(options);
  const messages = records.map((record) => ({
    ...record,
    timestamp: String(record.timestamp),
    headers: Object.fromEntries(record.headers),
  }));
  const compression = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }[options.codec ?? "none"];
  const answers = await producer.send({ topic: options.topic, messages, compression, acks: ACKS[options.acks ?? "all"] });
  const next = Object.fromEntries((answers ?? []).map((answer) => [answer.partition, Number(answer.baseOffset)]));
  for (const record of records) {
    const offset = options.acks === "0" || !(record.partition in next) ? -1 : next[record.partition]++;
    tell("sent", { ...record, offset });
  }
}

/** kafkajs reads in groups only: a group of one. */
async function consume(bootstrap, options) {
  const groupId = `${options["client-id"]}-alone`;
  const reader = await join(connect(bootstrap, options), options, groupId, options["client-id"]);
  await reader.until(Number(options.count ?? 6), 10_000);
  await reader.leave();
}

/** Start a member that prints what it reads and what it is given. */
async function join(client, options, groupId, clientId) {
  const consumer = client.consumer({
    groupId,
    sessionTimeout: 10_000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 300,
    readUncommitted: options.isolation !== "committed",
  });
  const state = { count: 0, member: "" };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    state.member = payload.memberId;
    const partitions = payload.memberAssignment;
    emit("joined", { client_id: clientId, group: groupId, member: payload.memberId, partitions });
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
  await consumer.run({ autoCommit: false, eachMessage: async (message) => take(message, state) });
  return {
    commit: async (offsets) => {
      await consumer.commitOffsets(offsets);
      for (const offset of offsets) emit("committed", { group: groupId, ...offset, offset: Number(offset.offset) });
    },
    until: (count, milliseconds) => wait(() => state.count >= count, milliseconds),
    leave: async () => {
      await consumer.disconnect();
      emit("left", { client_id: clientId, group: groupId, member: state.member });
    },
  };
}

function take({ topic, partition, message }, state) {
  state.count += 1;
  const headers = Object.entries(message.headers ?? {});
  const { key, value } = message;
  tell("read", { topic, partition, offset: Number(message.offset), key, value, headers, timestamp: Number(message.timestamp) });
}

async function wait(done, milliseconds) {
  const end = Date.now() + milliseconds;
  while (!done() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Two members: one reads alone, the second joins, both commit, the second leaves, then the first. */
async function group(bootstrap, options) {
  const name = (which) => `${options["client-id"]}-${which}`;
  const first = await join(connect(bootstrap, options, name("first")), options, options.group, name("first"));
  await first.until(Number(options.count ?? 6), 10_000);
  await first.commit([0, 1].map((partition) => ({ topic: options.topic, partition, offset: "3" })));
  const second = await join(connect(bootstrap, options, name("second")), options, options.group, name("second"));
  await wait(() => false, 3000);
  await second.leave();
  await wait(() => false, 2500);
  await first.leave();
}

/** One transaction that commits with offsets of a group, and one that aborts. */
async function transactions(bootstrap, options) {
  const settings = { transactionalId: options.id, idempotent: true, maxInFlightRequests: 1 };
  const producer = connect(bootstrap, options).producer({
    ...settings,
    createPartitioner: () => ({ message }) => message.partition,
  });
  await producer.connect();
  const kept = await producer.transaction();
  await write(kept, options);
  const topics = [{ topic: options.topic, partitions: [{ partition: 0, offset: "1" }] }];
  await outcome("sendOffsets", () => kept.sendOffsets({ consumerGroupId: options.group, topics }));
  await kept.commit();
  emit("committed_transaction", { id: options.id });
  const dropped = await producer.transaction();
  await write(dropped, options);
  await dropped.abort();
  emit("aborted_transaction", { id: options.id });
  await producer.disconnect();
}

/** Every call of the admin client. */
async function admin(bootstrap, options) {
  await administer(connect(bootstrap, options).admin({ retry: { retries: 2 } }), options);
}

await main({ produce, consume, group, transactions, admin });
