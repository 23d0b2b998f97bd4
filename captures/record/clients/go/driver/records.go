package driver

import (
	"fmt"
	"strings"
)

// Header is one record header; a nil value is a null value.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record as the scenarios write it, in no client's own terms.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp int64 // milliseconds
}

// firstTimestamp is the create time of the first record of a story: 2023-11-14 22:13:20 UTC.
const firstTimestamp = 1_700_000_000_000

// Story makes the records of a scenario: every fourth has no key, every fifth no value, some have headers.
func Story(args *Args) []Record {
	label, count, partitions := args.Text("label", "story"), args.Int("count", 6), args.Int("partitions", 2)
	records := make([]Record, count)
	for i := range records {
		records[i] = Record{
			Topic:     args.Text("topic", "story"),
			Partition: int32(i % partitions),
			Key:       key(i),
			Value:     value(label, i),
			Headers:   headers(label, i),
			Timestamp: firstTimestamp + int64(i)*1000,
		}
	}
	return records
}

func key(i int) []byte {
	if i%4 == 3 {
		return nil
	}
	return fmt.Appendf(nil, "key-%d", i)
}

func value(label string, i int) []byte {
	if i%5 == 4 {
		return nil
	}
	return fmt.Appendf(nil, "%s %d%s", label, i, strings.Repeat(" again", 8))
}

func headers(label string, i int) []Header {
	if i%3 != 0 {
		return nil
	}
	return []Header{{"trace", fmt.Appendf(nil, "%s-%d", label, i)}, {"empty", []byte{}}, {"binary", []byte{0, 0xff}}}
}

// Sent prints a record the broker took, with the offset the client was told (-1 where it was told none).
func Sent(record Record) { emitRecord("sent", record) }

// Read prints a record the client read.
func Read(record Record) { emitRecord("read", record) }

func emitRecord(name string, record Record) {
	headers := make([][2]any, 0, len(record.Headers))
	for _, header := range record.Headers {
		headers = append(headers, [2]any{header.Key, Text(header.Value)})
	}
	Emit(name, Event{
		"topic": record.Topic, "partition": record.Partition, "offset": record.Offset,
		"key": Text(record.Key), "value": Text(record.Value),
		"headers": headers, "timestamp": record.Timestamp,
	})
}
