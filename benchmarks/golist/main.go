// Command golist lists the Kafka exchanges of a capture, as a peer of `kdissect inspect` in benchmarks.
//
//	golist -ports 9092,19092 capture.pcap[ng][.gz] [more ...]
//
// One tab-separated line for each request: time of its first byte, client, broker, API, version, correlation id,
// bytes of the request and of the response, seconds between them. A request without a response has "-" in the
// last two columns. gopacket reads the packets and kmsg names the APIs. golist puts segments in order, but it
// does not continue after lost bytes, lists no incomplete frames, knows neither TLS nor SASL without frames, and
// reports no anomalies.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const prefix = 4 // bytes of a frame's size

type key struct{ client, broker netip.AddrPort }

type request struct {
	begin, end     time.Time
	api, version   int16
	correlation    int32
	size, response int
	latency        time.Duration
}

// half is one direction of a connection: bytes in order that make no whole frame yet, and segments that came early.
type half struct {
	known bool
	next  uint32
	data  []byte
	begin time.Time
	early map[uint32][]byte
}

type connection struct {
	halves  [2]half // of the client, of the broker
	waiting []*request
}

type lister struct {
	ports       map[uint16]bool
	connections map[key]*connection
	out         *bufio.Writer
	line        []byte
}

func main() {
	listed := flag.String("ports", "9092", "comma-separated ports of brokers")
	flag.Parse()
	all := &lister{ports: map[uint16]bool{}, connections: map[key]*connection{}, out: bufio.NewWriterSize(os.Stdout, 1<<16)}
	for _, text := range strings.Split(*listed, ",") {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			log.Fatal(err)
		}
		all.ports[uint16(port)] = true
	}
	for _, path := range flag.Args() {
		if err := all.read(path); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
	}
	for ends, conn := range all.connections {
		all.finish(ends, conn)
	}
	if err := all.out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func (all *lister) read(path string) error {
	source, first, err := open(path)
	if err != nil {
		return err
	}
	var (
		ethernet layers.Ethernet
		vlan     layers.Dot1Q
		cooked   layers.LinuxSLL
		loopback layers.Loopback
		ip4      layers.IPv4
		ip6      layers.IPv6
		udp      layers.UDP
		vxlan    layers.VXLAN
		tcp      layers.TCP
		found    []gopacket.LayerType
	)
	parser := gopacket.NewDecodingLayerParser(first, &ethernet, &vlan, &cooked, &loopback, &ip4, &ip6, &udp, &vxlan, &tcp)
	parser.IgnoreUnsupported = true
	for {
		data, info, err := source.ZeroCopyReadPacketData()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if parser.DecodeLayers(data, &found) != nil || len(found) < 2 || found[len(found)-1] != layers.LayerTypeTCP {
			continue
		}
		from, to := ip4.SrcIP, ip4.DstIP
		if found[len(found)-2] == layers.LayerTypeIPv6 {
			from, to = ip6.SrcIP, ip6.DstIP
		}
		all.segment(info.Timestamp, end(from, tcp.SrcPort), end(to, tcp.DstPort), &tcp)
	}
}

type reader interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

func open(path string) (reader, gopacket.LayerType, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	input := bufio.NewReaderSize(file, 1<<18)
	if start, _ := input.Peek(2); len(start) == 2 && start[0] == 0x1f && start[1] == 0x8b {
		plain, err := gzip.NewReader(input)
		if err != nil {
			return nil, 0, err
		}
		input = bufio.NewReaderSize(plain, 1<<18)
	}
	var link layers.LinkType
	var source reader
	if start, _ := input.Peek(4); string(start) == "\x0a\x0d\x0d\x0a" {
		ng, err := pcapgo.NewNgReader(input, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			return nil, 0, err
		}
		source, link = ng, ng.LinkType()
	} else {
		old, err := pcapgo.NewReader(input)
		if err != nil {
			return nil, 0, err
		}
		source, link = old, old.LinkType()
	}
	switch link {
	case layers.LinkTypeEthernet:
		return source, layers.LayerTypeEthernet, nil
	case layers.LinkTypeLinuxSLL:
		return source, layers.LayerTypeLinuxSLL, nil
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		return source, layers.LayerTypeLoopback, nil
	case layers.LinkTypeRaw:
		return source, layers.LayerTypeIPv4, nil
	}
	return nil, 0, fmt.Errorf("unsupported link type %d", link)
}

func end(address []byte, port layers.TCPPort) netip.AddrPort {
	found, _ := netip.AddrFromSlice(address)
	return netip.AddrPortFrom(found, uint16(port))
}

func (all *lister) segment(at time.Time, from, to netip.AddrPort, tcp *layers.TCP) {
	ends, direction := key{from, to}, 0
	if !all.ports[to.Port()] {
		if !all.ports[from.Port()] {
			return
		}
		ends, direction = key{to, from}, 1
	}
	conn := all.connections[ends]
	if conn == nil || tcp.SYN && !tcp.ACK {
		if conn != nil {
			all.finish(ends, conn)
		}
		conn = &connection{}
		all.connections[ends] = conn
	}
	side := &conn.halves[direction]
	if tcp.SYN {
		side.known, side.next = true, tcp.Seq+1
		return
	}
	if len(tcp.Payload) > 0 {
		side.put(at, tcp.Seq, tcp.Payload)
		for side.step() {
		}
		all.frames(ends, conn, direction, at)
	}
}

// put appends what is new of a segment, or keeps a segment that came early.
func (side *half) put(at time.Time, seq uint32, data []byte) {
	if !side.known {
		side.known, side.next = true, seq
	}
	late := int32(side.next - seq)
	switch {
	case late < 0:
		if side.early == nil {
			side.early = map[uint32][]byte{}
		}
		if len(side.early[seq]) < len(data) {
			side.early[seq] = append([]byte(nil), data...)
		}
	case int(late) < len(data):
		if len(side.data) == 0 {
			side.begin = at
		}
		side.data = append(side.data, data[late:]...)
		side.next += uint32(len(data)) - uint32(late)
	}
}

// step takes one early segment that has become due.
func (side *half) step() bool {
	for seq, data := range side.early {
		if int32(side.next-seq) >= 0 {
			delete(side.early, seq)
			side.put(side.begin, seq, data)
			return true
		}
	}
	return false
}

func (all *lister) frames(ends key, conn *connection, direction int, at time.Time) {
	side := &conn.halves[direction]
	rest := side.data
	for len(rest) >= prefix {
		size := int(binary.BigEndian.Uint32(rest))
		if len(rest)-prefix < size {
			break
		}
		frame := rest[prefix : prefix+size]
		rest = rest[prefix+size:]
		if direction == 0 {
			conn.ask(frame, side.begin, at)
		} else if done := conn.answer(frame, side.begin); done != nil {
			all.print(ends, done)
		}
		side.begin = at
	}
	if len(rest) < len(side.data) {
		side.data = append(side.data[:0], rest...)
	}
}

func (conn *connection) ask(frame []byte, begin, end time.Time) {
	if len(frame) < 8 {
		return
	}
	asked := &request{begin: begin, end: end, size: len(frame) + prefix, response: -1}
	asked.api = int16(binary.BigEndian.Uint16(frame))
	asked.version = int16(binary.BigEndian.Uint16(frame[2:]))
	asked.correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	conn.waiting = append(conn.waiting, asked)
}

func (conn *connection) answer(frame []byte, begin time.Time) *request {
	if len(frame) < 4 {
		return nil
	}
	correlation := int32(binary.BigEndian.Uint32(frame))
	for place, asked := range conn.waiting {
		if asked.correlation == correlation {
			asked.response, asked.latency = len(frame)+prefix, begin.Sub(asked.end)
			conn.waiting = append(conn.waiting[:place], conn.waiting[place+1:]...)
			return asked
		}
	}
	return nil
}

func (all *lister) finish(ends key, conn *connection) {
	for _, asked := range conn.waiting {
		all.print(ends, asked)
	}
	conn.waiting = nil
}

func (all *lister) print(ends key, one *request) {
	line := all.line[:0]
	line = strconv.AppendFloat(line, float64(one.begin.UnixNano())/1e9, 'f', 6, 64)
	line = append(line, '\t')
	line = ends.client.AppendTo(line)
	line = append(line, '\t')
	line = ends.broker.AppendTo(line)
	line = append(line, '\t')
	line = append(line, kmsg.NameForKey(one.api)...)
	for _, number := range []int64{int64(one.version), int64(one.correlation), int64(one.size)} {
		line = append(line, '\t')
		line = strconv.AppendInt(line, number, 10)
	}
	if one.response < 0 {
		line = append(line, "\t-\t-\n"...)
	} else {
		line = append(line, '\t')
		line = strconv.AppendInt(line, int64(one.response), 10)
		line = append(line, '\t')
		line = strconv.AppendFloat(line, one.latency.Seconds(), 'f', 6, 64)
		line = append(line, '\n')
	}
	all.line = line
	all.out.Write(line)
}
