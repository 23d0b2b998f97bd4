// Driver of any release of kafkajs: what goes on without end.
import kafkajs from "kafkajs";
import { emit, main } from "./driving.js";

const { Kafka, logLevel } = kafkajs;

function connect(bootstrap, options) {
  return new Kafka({ clientId: options["client-id"], brokers: bootstrap.split(","), logLevel: logLevel.NOTHING });
}

/** Write --count records to --topic, each after the response to the one before. */
async function writes(bootstrap, options) {
  const settings = { idempotent: options.idempotent === "yes", createPartitioner: kafkajs.Partitioners.DefaultPartitioner };
  const producer = connect(bootstrap, options).producer(settings);
  await producer.connect();
  for (let number = 0; number < Number(options.count ?? Infinity); number += 1) {
    await producer.send({ topic: options.topic, messages: [{ value: `{"order": ${number}}` }] });
    emit("wrote", { number });
    await new Promise((resolve) => setTimeout(resolve, Number(options.pace ?? 500)));
  }
  await producer.disconnect();
}

/** Read --topic as a member of --group. */
async function reads(bootstrap, options) {
  const consumer = connect(bootstrap, options).consumer({ groupId: options.group, heartbeatInterval: 500, maxWaitTimeInMs: 300 });
  await consumer.connect();
  await consumer.subscribe({ topic: options.topic, fromBeginning: true });
  await consumer.run({ autoCommitInterval: 1000, eachMessage: async ({ message }) => emit("seen", { offset: message.offset }) });
  await new Promise((_, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
  });
}

await main({ writes, reads });
