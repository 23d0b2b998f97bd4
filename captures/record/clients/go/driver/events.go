package driver

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"sync"
	"unicode"
)

var printing sync.Mutex

// Event is one line of standard output, without its "event" name.
type Event map[string]any

// Emit prints one event.
func Emit(name string, event Event) {
	line := map[string]any{"event": name}
	for key, value := range event {
		line[key] = value
	}
	printing.Lock()
	defer printing.Unlock()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(line)
}

// Outcome prints a call the client made and the error it was answered with, if any.
func Outcome(call string, err error) {
	event := Event{"call": call, "outcome": "ok"}
	if err != nil {
		event["outcome"] = err.Error()
	}
	Emit("call", event)
}

// Failed prints an error somewhere.
func Failed(where string, err error) {
	Emit("error", Event{"where": where, "code": err.Error()})
}

// Text gives bytes as text when they are printable ASCII, else as {"hex": ...}; nil stays null.
func Text(data []byte) any {
	if data == nil {
		return nil
	}
	for _, octet := range data {
		if octet > unicode.MaxASCII || !unicode.IsPrint(rune(octet)) {
			return map[string]string{"hex": hex.EncodeToString(data)}
		}
	}
	return string(data)
}
