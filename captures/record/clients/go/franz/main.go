// Driver of franz-go: its client, its admin client, and any request at any version through kmsg.
package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{
		"produce":      produce,
		"consume":      consume,
		"group":        group,
		"share":        share,
		"transactions": transactions,
		"admin":        admin,
		"scram-user":   scramUser,
		"raw":          sendRaw,
		"writes":       writes,
		"reads":        reads,
	})
}

// own are the options of this release alone: --metrics.
func own(args *driver.Args) []kgo.Opt {
	options := []kgo.Opt{kgo.SoftwareNameAndVersion("franz-go", "1.22.2")}
	if args.Text("metrics", "no") == "no" {
		options = append(options, kgo.DisableClientMetrics())
	}
	return options
}

// read polls until count records came or nothing came for quiet, and prints them.
func read(ctx context.Context, client *kgo.Client, count int, quiet time.Duration) []*kgo.Record {
	var records []*kgo.Record
	for len(records) < count {
		wait, cancel := context.WithTimeout(ctx, quiet)
		fetches := client.PollFetches(wait)
		cancel()
		if fetches.Err0() != nil {
			break
		}
		fetches.EachError(func(topic string, _ int32, err error) { driver.Failed("fetch "+topic, err) })
		fetches.EachRecord(func(record *kgo.Record) {
			driver.Read(neutral(record))
			records = append(records, record)
		})
	}
	return records
}

func neutral(record *kgo.Record) driver.Record {
	headers := make([]driver.Header, 0, len(record.Headers))
	for _, header := range record.Headers {
		headers = append(headers, driver.Header{Key: header.Key, Value: header.Value})
	}
	return driver.Record{
		Topic: record.Topic, Partition: record.Partition, Offset: record.Offset, Key: record.Key,
		Value: record.Value, Headers: headers, Timestamp: record.Timestamp.UnixMilli(),
	}
}
