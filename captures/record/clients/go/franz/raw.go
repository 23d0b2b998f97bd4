package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"kdissect.invalid/record/driver"
)

// Keys that must come first because others build on their answers, and keys that take things away and come last.
var (
	firstKeys = []int16{18, 3, 19, 0, 1, 2, 10, 11, 14, 12, 8, 9, 15, 16, 47, 13, 42, 22, 24, 25, 28, 26, 62, 63, 71, 72, 76, 78, 79, 90, 91}
	lastKeys  = []int16{92, 86, 80, 82, 81, 64, 94, 7, 20}
)

// sendRaw sends every API the listener names at every version it names, whatever a client would have chosen.
//
// --listener controller says that the bootstrap address is a KRaft controller's.
func sendRaw(ctx context.Context, args *driver.Args) error {
	on := &wire{address: args.Bootstrap, clientID: args.Text("client-id", "raw")}
	defer on.close()
	ranges, err := supported(on)
	if err != nil {
		return err
	}
	known := newWorld(args)
	known.prepare(on, ranges)
	for _, key := range order(ranges) {
		for version := ranges[key][0]; version <= ranges[key][1] && ctx.Err() == nil; version++ {
			known.patient(on, key, version)
		}
	}
	if ranges[22][2] == 6 {
		known.prepareTwoPhase(on)
	}
	return ctx.Err()
}

// prepareTwoPhase sends InitProducerId v6, which only brokers with unstable versions name and kmsg cannot read.
func (w *world) prepareTwoPhase(on *wire) {
	request := kmsg.NewPtrInitProducerIDRequest()
	w.fill(request)
	request.SetVersion(6)
	outcome := "answered"
	if _, err := on.carry(request); err != nil {
		outcome = err.Error()
	}
	driver.Emit("raw", driver.Event{"api": 22, "version": 6, "outcome": outcome})
}

// supported asks the listener for its range of versions of each API: from, to as far as kmsg knows it, to.
func supported(on *wire) (map[int16][3]int16, error) {
	request := kmsg.NewPtrApiVersionsRequest()
	request.SetVersion(0)
	answer, err := on.ask(request)
	if err != nil {
		return nil, err
	}
	ranges := map[int16][3]int16{}
	for _, key := range answer.(*kmsg.ApiVersionsResponse).ApiKeys {
		if made := kmsg.RequestForKey(key.ApiKey); made != nil {
			ranges[key.ApiKey] = [3]int16{key.MinVersion, min(key.MaxVersion, made.MaxVersion()), key.MaxVersion}
		}
	}
	return ranges, nil
}

func order(ranges map[int16][3]int16) []int16 {
	var keys, rest []int16
	for _, key := range firstKeys {
		if _, there := ranges[key]; there {
			keys = append(keys, key)
		}
	}
	for key := range ranges {
		if !slices.Contains(firstKeys, key) && !slices.Contains(lastKeys, key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	keys = append(keys, rest...)
	for _, key := range lastKeys {
		if _, there := ranges[key]; there {
			keys = append(keys, key)
		}
	}
	return keys
}

// exchange sends one API at one version and prints how it was answered; the first error code in the answer.
func (w *world) exchange(on *wire, key, version int16) int16 {
	request := kmsg.RequestForKey(key)
	request.SetVersion(version)
	w.version = version
	w.fill(request)
	answer, err := on.ask(request)
	outcome, code := "answered", int16(0)
	if err != nil {
		outcome = err.Error()
	} else if code = firstCode(answer); code != 0 {
		outcome = fmt.Sprintf("error code %d", code)
	}
	driver.Emit("raw", driver.Event{"api": key, "version": version, "outcome": outcome})
	if err == nil {
		w.learn(answer)
	}
	return code
}

// patient sends it again while the coordinator is still coming up: 14 loading, 15 not available, 16 not coordinator.
func (w *world) patient(on *wire, key, version int16) {
	for range 6 {
		if code := w.exchange(on, key, version); code < 14 || code > 16 {
			return
		}
		time.Sleep(settling)
	}
}
