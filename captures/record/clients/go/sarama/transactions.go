package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

// transactions commits one transaction with offsets of a group and aborts another.
func transactions(_ context.Context, args *driver.Args) error {
	config, err := producing(args)
	if err != nil {
		return err
	}
	config.Producer.Transaction.ID = args.Text("id", "tx")
	config.Producer.Transaction.Timeout = 20 * time.Second
	producer, err := sarama.NewSyncProducer(addresses(args), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := kept(producer, args); err != nil {
		return err
	}
	driver.Emit("committed_transaction", driver.Event{"id": args.Text("id", "tx")})
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if err := write(producer, args); err != nil {
		return err
	}
	if err := producer.AbortTxn(); err != nil {
		return err
	}
	driver.Emit("aborted_transaction", driver.Event{"id": args.Text("id", "tx")})
	return nil
}

func kept(producer sarama.SyncProducer, args *driver.Args) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if err := write(producer, args); err != nil {
		return err
	}
	metadata := "moved"
	offsets := map[string][]*sarama.PartitionOffsetMetadata{
		args.Text("topic", "story"): {{Partition: 0, Offset: 1, LeaderEpoch: -1, Metadata: &metadata}},
	}
	driver.Outcome("AddOffsetsToTxn", producer.AddOffsetsToTxn(offsets, args.Text("group", "mover")))
	return producer.CommitTxn()
}
