package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

var acks = map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}

// produce writes the story with --acks and --codec; --idempotent yes leaves the idempotent producer on.
func produce(ctx context.Context, args *driver.Args) error {
	options := []kgo.Opt{
		kgo.RequiredAcks(acks[args.Int("acks", -1)]),
		kgo.ProducerBatchCompression(codecs[args.Text("codec", "none")]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(20 * time.Millisecond),
	}
	if args.Text("idempotent", "no") == "no" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := connect(args, options...)
	if err != nil {
		return err
	}
	defer client.Close()
	write(ctx, client, args)
	return nil
}

// write produces the story through a client and prints what became of each record.
func write(ctx context.Context, client *kgo.Client, args *driver.Args) {
	var records []*kgo.Record
	for _, record := range driver.Story(args) {
		records = append(records, native(record, args))
	}
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, result := range client.ProduceSync(limited, records...) {
		if result.Err != nil {
			driver.Failed("produce", result.Err)
			continue
		}
		sent := neutral(result.Record)
		if args.Int("acks", -1) == 0 {
			sent.Offset = -1 // nobody told: franz-go leaves 0 there
		}
		driver.Sent(sent)
	}
}

func native(record driver.Record, args *driver.Args) *kgo.Record {
	made := &kgo.Record{
		Topic: record.Topic, Partition: record.Partition, Key: record.Key, Value: record.Value,
		Timestamp: time.UnixMilli(record.Timestamp),
	}
	if args.Text("headers", "yes") == "no" { // message formats 0 and 1 have none
		return made
	}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, kgo.RecordHeader{Key: header.Key, Value: header.Value})
	}
	return made
}
