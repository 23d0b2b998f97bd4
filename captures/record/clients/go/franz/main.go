// Driver of franz-go: its client, its admin client, and any request at any version through kmsg.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
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

// connect makes a client from the common options: --client-id, --max (a Kafka version), --sasl, --user, --password.
func connect(args *driver.Args, more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(args.Bootstrap, ",")...),
		kgo.ClientID(args.Text("client-id", "franz")),
		kgo.SoftwareNameAndVersion("franz-go", "1.22.2"),
		kgo.RetryTimeout(20 * time.Second),
		kgo.AllowAutoTopicCreation(),
	}
	if args.Text("metrics", "no") == "no" {
		options = append(options, kgo.DisableClientMetrics())
	}
	if args.Has("log") { // for whoever looks into a driver that hangs
		options = append(options, kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, nil)))
	}
	if args.Has("max") {
		options = append(options, kgo.MaxVersions(kversion.FromString(args.Text("max", ""))))
	}
	if args.Has("sasl") {
		options = append(options, kgo.SASL(mechanism(args)))
	}
	return kgo.NewClient(append(options, more...)...)
}

func mechanism(args *driver.Args) sasl.Mechanism {
	user, password := args.Text("user", ""), args.Text("password", "")
	switch args.Text("sasl", "") {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
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
