//go:build steady

// Driver of any release of segmentio's kafka-go: what goes on without end.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{"writes": writes, "reads": reads})
}

// writes writes --count records to --topic, each after the response to the one before.
func writes(ctx context.Context, args *driver.Args) error {
	writer := kafka.NewWriter(kafka.WriterConfig{
		Brokers: strings.Split(args.Bootstrap, ","), Topic: args.Text("topic", "story"), BatchTimeout: 20 * time.Millisecond,
	})
	defer writer.Close()
	for number := range args.Int("count", 1<<30) {
		key, value := fmt.Appendf(nil, "customer-%d", number), fmt.Appendf(nil, `{"order": %d}`, number)
		if err := writer.WriteMessages(ctx, kafka.Message{Key: key, Value: value}); err != nil {
			return err
		}
		driver.Emit("wrote", driver.Event{"number": number})
		time.Sleep(time.Duration(args.Int("pace", 500)) * time.Millisecond)
	}
	return nil
}

// reads reads --topic as a member of --group, or partition 0 of it without one. An error is no end.
func reads(ctx context.Context, args *driver.Args) error {
	config := kafka.ReaderConfig{
		Brokers: strings.Split(args.Bootstrap, ","), Topic: args.Text("topic", "story"), GroupID: args.Text("group", ""),
		MinBytes: 1, MaxBytes: 1 << 20,
	}
	reader := kafka.NewReader(config)
	defer reader.Close()
	for ctx.Err() == nil {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			driver.Failed("read", err)
			time.Sleep(200 * time.Millisecond)
			continue
		}
		driver.Emit("seen", driver.Event{"offset": message.Offset})
	}
	return nil
}
