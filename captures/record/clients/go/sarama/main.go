// Driver of sarama.
package main

import (
	"strings"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{
		"produce":      produce,
		"consume":      consume,
		"group":        group,
		"transactions": transactions,
		"admin":        admin,
	})
}

// settings makes the client's configuration: --client-id, --max (the Kafka release it takes the broker for), SASL.
func settings(args *driver.Args) (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.ClientID = args.Text("client-id", "sarama")
	version, err := sarama.ParseKafkaVersion(args.Text("max", "4.1.0"))
	if err != nil {
		return nil, err
	}
	config.Version = version
	config.ApiVersionsRequest = version.IsAtLeast(sarama.V2_4_0_0)
	config.Metadata.Retry.Max = 10
	config.Consumer.MaxWaitTime = 300 * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	if args.Text("isolation", "") == "committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	if args.Has("sasl") {
		authenticate(config, args)
	}
	return config, nil
}

func authenticate(config *sarama.Config, args *driver.Args) {
	config.Net.SASL.Enable = true
	config.Net.SASL.User, config.Net.SASL.Password = args.Text("user", ""), args.Text("password", "")
	config.Net.SASL.Mechanism = sarama.SASLMechanism(args.Text("sasl", "PLAIN"))
	config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
		return &conversation{wide: strings.HasSuffix(args.Text("sasl", ""), "512")}
	}
}

func addresses(args *driver.Args) []string { return strings.Split(args.Bootstrap, ",") }

func neutral(message *sarama.ConsumerMessage) driver.Record {
	record := driver.Record{
		Topic: message.Topic, Partition: message.Partition, Offset: message.Offset, Key: message.Key,
		Value: message.Value, Timestamp: message.Timestamp.UnixMilli(),
	}
	for _, header := range message.Headers {
		record.Headers = append(record.Headers, driver.Header{Key: string(header.Key), Value: header.Value})
	}
	return record
}
