package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"kdissect.invalid/record/driver"
)

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

var acks = map[string]kafka.RequiredAcks{"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll}

// produce writes the story with --acks and --codec; the writer numbers its messages when the broker answered.
func produce(ctx context.Context, args *driver.Args) error {
	carrier, err := transport(args)
	if err != nil {
		return err
	}
	records := driver.Story(args)
	writer := &kafka.Writer{
		Addr: kafka.TCP(args.Bootstrap), Topic: args.Text("topic", "story"), Transport: carrier,
		RequiredAcks: acks[args.Text("acks", "all")], Compression: codecs[args.Text("codec", "none")],
		Balancer: kafka.BalancerFunc(asWritten), BatchTimeout: 20 * time.Millisecond, AllowAutoTopicCreation: true,
		Completion: func(messages []kafka.Message, err error) {
			delivered(records, messages, args.Text("acks", "all") == "0", err)
		},
	}
	messages := make([]kafka.Message, len(records))
	for i, record := range records {
		messages[i] = native(record)
	}
	for range 10 { // the topic's first leader takes a moment
		if err = writer.WriteMessages(ctx, messages...); err == nil {
			break
		}
		driver.Failed("produce", err)
		time.Sleep(300 * time.Millisecond)
	}
	return writer.Close()
}

// asWritten sends a message to the partition its record names: the timestamps count the records.
func asWritten(message kafka.Message, partitions ...int) int {
	return partitions[int(message.Time.Unix())%2%len(partitions)]
}

func native(record driver.Record) kafka.Message {
	message := kafka.Message{Key: record.Key, Value: record.Value, Time: time.UnixMilli(record.Timestamp)}
	for _, header := range record.Headers {
		message.Headers = append(message.Headers, kafka.Header{Key: header.Key, Value: header.Value})
	}
	return message
}

// delivered prints a batch the broker took; without an answer (acks 0) nobody knows the offsets.
func delivered(records []driver.Record, messages []kafka.Message, blind bool, err error) {
	if err != nil {
		return
	}
	for _, message := range messages {
		for _, record := range records {
			if record.Timestamp == message.Time.UnixMilli() {
				record.Offset, record.Partition = message.Offset, int32(message.Partition)
				if blind {
					record.Offset = -1
				}
				driver.Sent(record)
			}
		}
	}
}
