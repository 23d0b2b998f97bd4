// What a driver in JavaScript needs: the command line, the events it prints, the records of the story.

const FIRST_TIMESTAMP = 1_700_000_000_000; // milliseconds: 2023-11-14 22:13:20 UTC

/** Run `BOOTSTRAP ACTION [--key value ...]` with one of the actions. */
export async function main(actions) {
  const [bootstrap, action, ...words] = process.argv.slice(2);
  const options = {};
  for (let i = 0; i < words.length; i += 2) options[words[i].replace(/^--/, "")] = words[i + 1];
  try {
    await actions[action](bootstrap, options);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
  process.exit(0);
}

/** Print one event. */
export function emit(event, content) {
  process.stdout.write(JSON.stringify({ event, ...content }) + "\n");
}

/** Make a call and print how it ended. */
export async function outcome(call, work) {
  try {
    await work();
    emit("call", { call, outcome: "ok" });
  } catch (error) {
    emit("call", { call, outcome: `${error.type ?? error.name}: ${error.message}`.slice(0, 300) });
  }
}

/** The records to write: every fourth has no key, every fifth no value, every third headers. */
export function story(options) {
  const label = options.label ?? "story";
  const partitions = Number(options.partitions ?? 2);
  return Array.from({ length: Number(options.count ?? 6) }, (_, i) => ({
    topic: options.topic,
    partition: i % partitions,
    offset: -1,
    key: i % 4 === 3 ? null : Buffer.from(`key-${i}`),
    value: i % 5 === 4 ? null : Buffer.from(`${label} ${i}${" again".repeat(8)}`),
    headers: i % 3 ? [] : [["trace", Buffer.from(`${label}-${i}`)], ["empty", Buffer.alloc(0)], ["binary", Buffer.from([0, 255])]],
    timestamp: FIRST_TIMESTAMP + i * 1000,
  }));
}

/** Bytes as text when they are printable ASCII, else as hex. */
function text(data) {
  if (data === null || data === undefined) return null;
  return data.every((octet) => octet >= 32 && octet < 127) ? data.toString("latin1") : { hex: data.toString("hex") };
}

/** Print a record that was sent (offset -1 when the client was told none) or read. */
export function tell(event, record) {
  const headers = record.headers.map(([key, value]) => [key, text(value)]);
  emit(event, { ...record, key: text(record.key), value: text(record.value), headers });
}
