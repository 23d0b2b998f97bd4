// Driver of any release of @platformatic/kafka: what goes on without end.
import { Consumer, Producer } from "@platformatic/kafka";
import { emit, main } from "./driving.js";

function settings(bootstrap, options) {
  return { clientId: options["client-id"], bootstrapBrokers: bootstrap.split(","), retries: 400, retryDelay: 250 };
}

/** Write --count bursts of --burst calls, one record each, to partition 0 of --topic. A burst waits for the one before. */
async function writes(bootstrap, options) {
  const producer = new Producer({ ...settings(bootstrap, options), idempotent: options.idempotent === "yes" });
  const burst = Number(options.burst ?? 1);
  for (let number = 0; number < Number(options.count ?? Infinity); number += 1) {
    const calls = Array.from({ length: burst }, (_, i) => {
      const value = Buffer.from(`{"order": ${number * burst + i}}`);
      return producer.send({ messages: [{ topic: options.topic, partition: 0, value }] });
    });
    await Promise.all(calls);
    emit("wrote", { number });
    await new Promise((resolve) => setTimeout(resolve, Number(options.pace ?? 500)));
  }
  await producer.close();
}

/** Read --topic as a member of --group. */
async function reads(bootstrap, options) {
  const consumer = new Consumer({
    ...settings(bootstrap, options),
    groupId: options.group,
    heartbeatInterval: 500,
    maxWaitTime: 300,
    groupProtocol: options.protocol ?? "classic",
  });
  const stream = await consumer.consume({ autocommit: 1000, topics: [options.topic], mode: "committed", fallbackMode: "earliest" });
  for await (const message of stream) emit("seen", { offset: Number(message.offset) });
}

await main({ writes, reads });
