package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// longest is how long an answer may take; AddRaftVoter and JoinGroup are the slow ones.
const longest = 8 * time.Second

// wire is one connection at a time, opened again after the broker closed it.
type wire struct {
	address  string
	clientID string
	open     net.Conn
	next     int32
}

// ask sends a request as it is and reads its answer.
func (w *wire) ask(request kmsg.Request) (kmsg.Response, error) {
	body, err := w.carry(request)
	if err != nil {
		return nil, err
	}
	answer := request.ResponseKind()
	answer.SetVersion(request.GetVersion())
	return answer, answer.ReadFrom(body)
}

// carry sends a request and returns the body of its answer.
func (w *wire) carry(request kmsg.Request) ([]byte, error) {
	if err := w.connect(); err != nil {
		return nil, err
	}
	w.next++
	if _, err := w.open.Write(w.frame(request)); err != nil {
		w.close()
		return nil, errors.New("connection closed while writing")
	}
	body, err := w.read(request)
	if err != nil {
		w.close()
	}
	return body, err
}

// frame lays a request out. ControlledShutdown v0 has a header without client id, whose frame kmsg leaves unfinished.
func (w *wire) frame(request kmsg.Request) []byte {
	if request.Key() != 7 || request.GetVersion() != 0 {
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(w.clientID)).AppendRequest(nil, request, w.next)
		return twoPhase(request, frame)
	}
	body := request.AppendTo(nil)
	frame := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, 7<<16) // the key, and version 0
	frame = binary.BigEndian.AppendUint32(frame, uint32(w.next))
	return append(frame, body...)
}

func (w *wire) connect() error {
	if w.open != nil {
		return nil
	}
	connection, err := net.DialTimeout("tcp", w.address, longest)
	w.open = connection
	return err
}

// read takes one response frame off the connection and cuts its header off.
func (w *wire) read(request kmsg.Request) ([]byte, error) {
	_ = w.open.SetReadDeadline(time.Now().Add(longest))
	var size [4]byte
	if _, err := io.ReadFull(w.open, size[:]); err != nil {
		return nil, fmt.Errorf("no answer: %w", closed(err))
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(w.open, frame); err != nil {
		return nil, fmt.Errorf("half an answer: %w", closed(err))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != w.next {
		return nil, fmt.Errorf("answer to request %d", got)
	}
	if request.IsFlexible() && request.Key() != 18 { // ApiVersions is always answered with response header 0 (KIP-511)
		return frame[5:], nil
	}
	return frame[4:], nil
}

func closed(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("connection closed")
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return errors.New("time-out")
	}
	return errors.New("connection reset")
}

func (w *wire) close() {
	if w.open != nil {
		_ = w.open.Close()
		w.open = nil
	}
}

// twoPhase adds what InitProducerId v6 has and kmsg does not know: Enable2Pc and KeepPreparedTxn (KIP-939), both false.
func twoPhase(request kmsg.Request, frame []byte) []byte {
	if request.Key() != 22 || request.GetVersion() != 6 {
		return frame
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4+2))
	return append(frame[:len(frame)-1], 0, 0, 0) // the last byte closes the body: no tagged fields
}
