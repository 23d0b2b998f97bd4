package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

// transactions commits one transaction and aborts another, then moves records of a topic through a third with a group.
func transactions(ctx context.Context, args *driver.Args) error {
	client, err := connect(args,
		kgo.TransactionalID(args.Text("id", "tx")),
		kgo.TransactionTimeout(20*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := transaction(ctx, client, args, kgo.TryCommit); err != nil {
		return err
	}
	if err := transaction(ctx, client, args, kgo.TryAbort); err != nil {
		return err
	}
	if args.Has("group") {
		return move(ctx, args)
	}
	return nil
}

func transaction(ctx context.Context, client *kgo.Client, args *driver.Args, try kgo.TransactionEndTry) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	write(ctx, client, args)
	if err := client.EndTransaction(ctx, try); err != nil {
		return err
	}
	producer, epoch, _ := client.ProducerID(ctx)
	ended(args.Text("id", "tx"), bool(try), driver.Event{"producer": producer, "epoch": epoch})
	return nil
}

func ended(id string, committed bool, event driver.Event) {
	event["id"] = id
	if committed {
		driver.Emit("committed_transaction", event)
		return
	}
	driver.Emit("aborted_transaction", event)
}

// move consumes the topic in a group and writes what it read to --to, offsets and records in one transaction.
func move(ctx context.Context, args *driver.Args) error {
	id := args.Text("id", "tx") + "-move"
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(args.Bootstrap), kgo.ClientID(args.Text("client-id", "franz")+"-move"),
		kgo.DisableClientMetrics(), kgo.TransactionalID(id), kgo.TransactionTimeout(20*time.Second),
		kgo.ConsumerGroup(args.Text("group", "mover")), kgo.ConsumeTopics(args.Text("topic", "story")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(300*time.Millisecond), kgo.RequireStableFetchOffsets(), kgo.AllowAutoTopicCreation(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	records := read(ctx, session.Client(), 1, 5*time.Second)
	if err := session.Begin(); err != nil {
		return err
	}
	for _, record := range records {
		copied := &kgo.Record{Topic: args.Text("to", "moved"), Key: record.Key, Value: record.Value}
		result := session.ProduceSync(ctx, copied)
		if err := result.FirstErr(); err != nil {
			return err
		}
		driver.Sent(neutral(result[0].Record))
	}
	committed, err := session.End(ctx, kgo.TryCommit)
	ended(id, committed, driver.Event{"group": args.Text("group", "mover")})
	return err
}
