//go:build steady

// Driver of other releases of franz-go: what goes on without end.
package main

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{"writes": writes, "reads": reads})
}

func own(*driver.Args) []kgo.Opt {
	return nil
}
