// Driver of @platformatic/kafka.
import { Consumer, Producer } from "@platformatic/kafka";
import { emit, main, story, tell } from "./driving.js";

const ACKS = { 0: 0, 1: 1, all: -1 };

function settings(bootstrap, options, clientId = options["client-id"]) {
  return { clientId, bootstrapBrokers: bootstrap.split(","), autocreateTopics: true, retries: 8, retryDelay: 200 };
}

/** Write the story with --acks and --codec; the client numbers records if --idempotent is yes. */
async function produce(bootstrap, options) {
  const producer = new Producer({ ...settings(bootstrap, options), idempotent: options.idempotent === "yes" });
  await write(producer, options);
  await producer.close();
}

/** Send the story with a producer or a transaction and print each record. */
async function write(sender, options) {
  const records = story(options);
  const messages = records.map(({ topic, partition, key, value, timestamp, headers }) => ({
    topic,
    partition,
    key: key ?? undefined,
    value: value ?? undefined,
    timestamp: BigInt(timestamp),
    headers: new Map(headers.map(([name, content]) => [Buffer.from(name), content])),
  }));
  const acks = sender instanceof Producer ? { acks: ACKS[options.acks ?? "all"] } : {};
  await sender.send({ messages, compression: options.codec ?? "none", ...acks });
  for (const record of records) tell("sent", record);
}

/** Start a member that prints what it reads. */
async function join(bootstrap, options, groupId, clientId) {
  const consumer = new Consumer({
    ...settings(bootstrap, options, clientId),
    groupId,
    sessionTimeout: 10_000,
    heartbeatInterval: 500,
    maxWaitTime: 300,
    isolationLevel: options.isolation === "committed" ? 1 : 0,
  });
  const state = { count: 0, last: undefined };
  const stream = await consumer.consume({ autocommit: false, topics: [options.topic], mode: "committed", fallbackMode: "earliest" });
  stream.on("error", () => {}); // a rebalance ends what is in flight
  stream.on("data", (message) => take(message, state));
  emit("joined", { client_id: clientId, group: groupId, member: consumer.memberId });
  return {
    commit: async () => state.last?.commit(),
    until: (count, milliseconds) => wait(() => state.count >= count, milliseconds),
    leave: async () => {
      await consumer.close(true);
      emit("left", { client_id: clientId, group: groupId });
    },
  };
}

function take(message, state) {
  state.count += 1;
  state.last = message;
  const { topic, partition, offset, key, value, timestamp } = message;
  const headers = [...message.headers].map(([name, content]) => [name.toString(), content]);
  tell("read", { topic, partition, offset: Number(offset), key, value, headers, timestamp: Number(timestamp) });
}

async function wait(done, milliseconds) {
  const end = Date.now() + milliseconds;
  while (!done() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Two members: one reads alone and commits, the second joins and leaves, then the first. */
async function group(bootstrap, options) {
  const name = (which) => `${options["client-id"]}-${which}`;
  const first = await join(bootstrap, options, options.group, name("first"));
  await first.until(Number(options.count ?? 6), 10_000);
  await first.commit();
  const second = await join(bootstrap, options, options.group, name("second"));
  await wait(() => false, 3000);
  await second.leave();
  await wait(() => false, 2500);
  await first.leave();
}

/** One transaction that commits, and one that aborts. */
async function transactions(bootstrap, options) {
  const producer = new Producer({ ...settings(bootstrap, options), idempotent: true, transactionalId: options.id });
  const kept = await producer.beginTransaction();
  await write(kept, options);
  await kept.commit();
  emit("committed_transaction", { id: options.id });
  const dropped = await producer.beginTransaction();
  await write(dropped, options);
  await dropped.abort();
  emit("aborted_transaction", { id: options.id });
  await producer.close();
}

await main({ produce, group, transactions });
