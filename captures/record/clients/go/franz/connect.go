package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
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

// connect makes a client from the common options: --client-id, --max (a Kafka version), --sasl, --user, --password, --trust
// (a certificate, whatever host it names).
func connect(args *driver.Args, more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(args.Bootstrap, ",")...),
		kgo.ClientID(args.Text("client-id", "franz")),
		kgo.RetryTimeout(20 * time.Second),
		kgo.AllowAutoTopicCreation(),
	}
	options = append(options, own(args)...)
	if args.Has("log") { // for whoever looks into a driver that hangs
		options = append(options, kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, nil)))
	}
	if args.Has("max") {
		options = append(options, kgo.MaxVersions(kversion.FromString(args.Text("max", ""))))
	}
	if args.Has("sasl") {
		options = append(options, kgo.SASL(mechanism(args)))
	}
	if args.Has("trust") {
		trusted, err := trusting(args.Text("trust", ""))
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(trusted))
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

func trusting(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(certificate)
	return &tls.Config{RootCAs: authorities, ServerName: certificate.DNSNames[0]}, nil
}
