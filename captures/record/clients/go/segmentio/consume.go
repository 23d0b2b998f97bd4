package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"kdissect.invalid/record/driver"
)

// consume reads the partitions of a topic from the beginning, one reader each, without a group.
func consume(ctx context.Context, args *driver.Args) error {
	partitions := args.Int("partitions", 2)
	for partition := range partitions {
		reader, err := reading(args, args.Text("client-id", "segmentio"), func(config *kafka.ReaderConfig) {
			config.Topic, config.Partition = args.Text("topic", "story"), partition
		})
		if err != nil {
			return err
		}
		read(ctx, reader, args.Int("count", 6)/partitions, 4*time.Second)
		if err := reader.Close(); err != nil {
			return err
		}
	}
	return nil
}

func reading(args *driver.Args, clientID string, complete func(*kafka.ReaderConfig)) (*kafka.Reader, error) {
	connect, err := dialer(args, clientID)
	if err != nil {
		return nil, err
	}
	config := kafka.ReaderConfig{
		Brokers: []string{args.Bootstrap}, Dialer: connect, MaxWait: 300 * time.Millisecond,
		MinBytes: 1, MaxBytes: 65536, StartOffset: kafka.FirstOffset,
	}
	complete(&config)
	return kafka.NewReader(config), nil
}
