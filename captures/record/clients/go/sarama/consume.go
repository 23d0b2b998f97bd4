package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

// consume reads the partitions of a topic from the beginning without a group.
func consume(ctx context.Context, args *driver.Args) error {
	config, err := settings(args)
	if err != nil {
		return err
	}
	consumer, err := sarama.NewConsumer(addresses(args), config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	arrived := make(chan *sarama.ConsumerMessage)
	for partition := range args.Int("partitions", 2) {
		reading, err := consumer.ConsumePartition(args.Text("topic", "story"), int32(partition), sarama.OffsetOldest)
		if err != nil {
			return err
		}
		defer reading.AsyncClose()
		go func() {
			for message := range reading.Messages() {
				arrived <- message
			}
		}()
	}
	take(ctx, arrived, args.Int("count", 6))
	return nil
}

func take(ctx context.Context, arrived <-chan *sarama.ConsumerMessage, count int) {
	late := time.After(8 * time.Second)
	for range count {
		select {
		case message := <-arrived:
			driver.Read(neutral(message))
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}
