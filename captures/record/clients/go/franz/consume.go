package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

// consume reads a topic's partitions from the beginning without a group; --isolation committed hides aborted records.
func consume(ctx context.Context, args *driver.Args) error {
	client, err := connect(args, consuming(args)...)
	if err != nil {
		return err
	}
	defer client.Close()
	read(ctx, client, args.Int("count", 6), 8*time.Second)
	return nil
}

func consuming(args *driver.Args) []kgo.Opt {
	options := []kgo.Opt{
		kgo.ConsumeTopics(args.Text("topic", "story")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(300 * time.Millisecond),
	}
	if args.Text("isolation", "") == "committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return options
}
