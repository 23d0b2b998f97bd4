#!/usr/bin/env bash
# sarama 1.61.1 cannot read a response whose header has a tagged field.
#
# Responses of flexible versions have header version 1: the correlation id, then tagged fields.
#
# Expected: KIP-482, section "Proposed Changes". A receiver ignores tagged fields that it does not know, so that a broker can
# add one without a new version of the API. franz-go 1.22.2 does so.
# Observed: sarama reads 9 bytes as the header (getHeaderLength in broker.go), which is right only without tagged fields.
# With one tagged field, the client stops with "insufficient data to decode packet", and the connection is not used again.
# sarama ignores the same field in the body.
# Known: a comment at getHeaderLength says that tags are not supported there yet. https://github.com/IBM/sarama/pull/2107
# is about tagged fields of the body. We found no public report about the header.
#
# Consequence: no release of Apache Kafka sends a tagged field in this header. A broker or proxy that adds one, as the
# protocol permits, cannot be used with sarama.
#
# Needs go. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
command -v go > /dev/null || cannot "go is missing"

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"

cat > go.mod <<'GO'
module clients

go 1.25

require (
	github.com/IBM/sarama v1.61.1
	github.com/twmb/franz-go v1.22.2
	github.com/twmb/franz-go/pkg/kmsg v1.15.0
)
GO
cat > main.go <<'GO'
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	keyMetadata    = 3
	keyApiVersions = 18
)

var (
	noField  = []byte{0}                        // number of tagged fields
	oneField = []byte{1, 100, 3, 'n', 'e', 'w'} // one: tag 100, 3 bytes
)

// serve answers ApiVersions and Metadata with these tagged fields in the header and at the end of the body.
func serve(listener net.Listener, header, body []byte) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			for answer(connection, listener.Addr().(*net.TCPAddr).Port, header, body) == nil {
			}
		}()
	}
}

func answer(connection net.Conn, port int, header, body []byte) error {
	size := make([]byte, 4)
	if _, err := io.ReadFull(connection, size); err != nil {
		return err
	}
	request := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(connection, request); err != nil {
		return err
	}
	key, version := binary.BigEndian.Uint16(request), int16(binary.BigEndian.Uint16(request[2:]))
	response := append([]byte{}, request[4:8]...) // correlation id
	switch key {
	case keyApiVersions: // its header is always version 0, without tagged fields
		versions := kmsg.NewPtrApiVersionsResponse()
		versions.Version = version
		versions.ApiKeys = []kmsg.ApiVersionsResponseApiKey{
			{ApiKey: keyMetadata, MinVersion: 9, MaxVersion: 9}, {ApiKey: keyApiVersions, MinVersion: 0, MaxVersion: 3},
		}
		response = versions.AppendTo(response)
	case keyMetadata:
		metadata := kmsg.NewPtrMetadataResponse()
		metadata.Version = version
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = 1, "127.0.0.1", int32(port)
		metadata.Brokers = append(metadata.Brokers, broker)
		metadata.ControllerID = 1
		response = metadata.AppendTo(append(response, header...))
		response = append(response[:len(response)-1], body...) // the last byte is the number of tagged fields, 0
	default:
		return fmt.Errorf("request of API %d", key)
	}
	_, err := connection.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(response))), response...))
	return err
}

func withSarama(address string) string {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Metadata.Retry.Max = 0
	config.Net.ReadTimeout = 5 * time.Second
	client, err := sarama.NewClient([]string{address}, config)
	if err != nil {
		return err.Error()
	}
	defer client.Close()
	return fmt.Sprintf("%d broker", len(client.Brokers()))
}

func withFranz(address string) string {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RequestRetries(0))
	if err != nil {
		return err.Error()
	}
	defer client.Close()
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	response, err := kmsg.NewPtrMetadataRequest().RequestWith(limit, client)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d broker", len(response.Brokers))
}

func main() {
	for _, each := range []struct {
		name         string
		header, body []byte
	}{{"no tagged field", noField, noField}, {"in the body", noField, oneField}, {"in the header", oneField, noField}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go serve(listener, each.header, each.body)
		address := listener.Addr().String()
		fmt.Printf("%s: franz-go %s, sarama %s\n", each.name, withFranz(address), withSarama(address))
		listener.Close()
	}
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
go build -o clients . > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"
seen=$(timeout 60 ./clients 2>&1)

echo "$seen"
[ "$seen" = "no tagged field: franz-go 1 broker, sarama 1 broker
in the body: franz-go 1 broker, sarama 1 broker
in the header: franz-go 1 broker, sarama kafka: client has run out of available brokers to talk to: kafka: insufficient data to decode packet, more bytes expected" ] \
    || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: sarama cannot read a response header with a tagged field."
