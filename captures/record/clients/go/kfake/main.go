// kfake, the mock cluster of franz-go: one broker, which says its port and serves until it is ended.
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, port, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("{\"event\": \"serves\", \"port\": %s}\n", port)
	select {}
}
