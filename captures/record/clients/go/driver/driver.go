// Package driver is what the Go client drivers share: the command line and the events on standard output.
//
// A driver is called as `driver BOOTSTRAP ACTION [--key value ...]` and prints one JSON object a line.
package driver

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Args is one parsed command line.
type Args struct {
	Bootstrap string
	Action    string
	options   map[string]string
}

// Action does one thing a driver was asked for.
type Action func(ctx context.Context, args *Args) error

// Main runs the action named on the command line within two minutes; it exits 1 when the action failed.
func Main(actions map[string]Action) {
	args, err := parse(os.Args[1:])
	if err == nil {
		err = run(actions, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(actions map[string]Action, args *Args) error {
	action, known := actions[args.Action]
	if !known {
		return fmt.Errorf("unknown action %q", args.Action)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return action(ctx, args)
}

func parse(words []string) (*Args, error) {
	if len(words) < 2 || len(words)%2 != 0 {
		return nil, fmt.Errorf("usage: driver BOOTSTRAP ACTION [--key value ...]")
	}
	args := &Args{Bootstrap: words[0], Action: words[1], options: map[string]string{}}
	for pair := range slices.Chunk(words[2:], 2) {
		args.options[strings.TrimPrefix(pair[0], "--")] = pair[1]
	}
	return args, nil
}

// Text returns an option, or the fallback where it was not given.
func (a *Args) Text(key, fallback string) string {
	if value, given := a.options[key]; given {
		return value
	}
	return fallback
}

// Has says whether an option was given.
func (a *Args) Has(key string) bool {
	_, given := a.options[key]
	return given
}

// Int returns a whole number option, or the fallback where it was not given or is none.
func (a *Args) Int(key string, fallback int) int {
	value, err := strconv.Atoi(a.Text(key, ""))
	if err != nil {
		return fallback
	}
	return value
}
