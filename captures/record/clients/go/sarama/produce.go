package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

var acks = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll}

// producing completes the configuration of a producer with --acks, --codec and --idempotent.
func producing(args *driver.Args) (*sarama.Config, error) {
	config, err := settings(args)
	if err != nil {
		return nil, err
	}
	config.Producer.RequiredAcks = acks[args.Text("acks", "all")]
	config.Producer.Compression = codecs[args.Text("codec", "none")]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	config.Producer.Return.Successes = true
	if args.Text("idempotent", "no") == "yes" || args.Has("id") {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	return config, nil
}

func produce(_ context.Context, args *driver.Args) error {
	config, err := producing(args)
	if err != nil {
		return err
	}
	producer, err := sarama.NewSyncProducer(addresses(args), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	return write(producer, args)
}

// write sends the story and prints the offsets the broker gave.
func write(producer sarama.SyncProducer, args *driver.Args) error {
	records := driver.Story(args)
	messages := make([]*sarama.ProducerMessage, len(records))
	for i := range records {
		if args.Text("headers", "yes") == "no" {
			records[i].Headers = nil
		}
		messages[i] = native(records[i])
	}
	err := producer.SendMessages(messages)
	for i, message := range messages {
		records[i].Offset = message.Offset
		if args.Text("acks", "all") == "0" {
			records[i].Offset = -1
		}
		if err == nil {
			driver.Sent(records[i])
		}
	}
	return err
}

func native(record driver.Record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{
		Topic: record.Topic, Partition: record.Partition, Timestamp: time.UnixMilli(record.Timestamp),
	}
	if record.Key != nil {
		message.Key = sarama.ByteEncoder(record.Key)
	}
	if record.Value != nil {
		message.Value = sarama.ByteEncoder(record.Value)
	}
	for _, header := range record.Headers {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
	}
	return message
}
