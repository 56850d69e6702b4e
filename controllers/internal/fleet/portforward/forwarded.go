package portforward

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Opcodes of WebSocket frames (RFC 6455, section 5.2).
const (
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

// Channels of one port.
const (
	dataChannel  = 0
	errorChannel = 1
)

const (
	// maxControl is how long the payload of a control frame is at most (RFC 6455, section 5.5).
	maxControl = 125
	// maxForwardError is how much is told of why a port cannot be forwarded, in bytes.
	maxForwardError = 512
	// maxWritten is how much is sent in one frame, in bytes.
	maxWritten = 32 << 10
)

// forwarded is a port of a pod, in WebSocket frames. One goroutine may read and another may write.
type forwarded struct {
	net.Conn

	// left of the payload of the data frame that is being read.
	left uint64
	// begun are the channels that have told their port, which each does first.
	begun [2]bool
}

func newForwarded(conn net.Conn) *forwarded { return &forwarded{Conn: conn} }

// Read implements net.Conn.
func (f *forwarded) Read(into []byte) (int, error) {
	for f.left == 0 {
		if err := f.nextFrame(); err != nil {
			return 0, err
		}
	}
	n, err := f.Conn.Read(into[:min(uint64(len(into)), f.left)])
	f.left -= uint64(n)
	return n, err
}

// nextFrame reads the beginning of a frame, and frames that hold no data whole.
func (f *forwarded) nextFrame() error {
	opcode, length, err := f.readHead()
	if err != nil {
		return err
	}
	switch {
	case opcode == opClose:
		return io.EOF
	case opcode == opPing || opcode == opPong:
		return f.control(opcode, length)
	case opcode != opBinary && opcode != opText || length == 0:
		return errors.New("the cluster sends a frame that is no part of forwarding a port")
	}
	var channel [1]byte
	if _, err := io.ReadFull(f.Conn, channel[:]); err != nil {
		return err
	}
	length--
	if int(channel[0]) >= len(f.begun) {
		return fmt.Errorf("the cluster sends something on channel %d, which was not opened", channel[0])
	}
	if !f.begun[channel[0]] {
		f.begun[channel[0]] = true
		return f.skipPort(length)
	}
	if channel[0] == errorChannel {
		return f.readError(length)
	}
	f.left = length
	return nil
}

func (f *forwarded) readHead() (opcode byte, length uint64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(f.Conn, head[:2]); err != nil {
		return 0, 0, err
	}
	const final, masked = 0x80, 0x80
	if head[0]&final == 0 || head[1]&masked != 0 {
		return 0, 0, errors.New("the cluster sends a frame in parts, or masked, which servers do not")
	}
	opcode, length = head[0]&0xf, uint64(head[1])
	size := map[uint64]int{126: 2, 127: 8}[length]
	if size == 0 {
		return opcode, length, nil
	}
	clear(head[:])
	if _, err := io.ReadFull(f.Conn, head[8-size:]); err != nil {
		return 0, 0, err
	}
	return opcode, binary.BigEndian.Uint64(head[:]), nil
}

// control answers a ping, and drops what is none.
func (f *forwarded) control(opcode byte, length uint64) error {
	if length > maxControl {
		return errors.New("the cluster sends a control frame that is too long")
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(f.Conn, payload); err != nil || opcode == opPong {
		return err
	}
	return f.writeFrame(opPong, payload)
}

// skipPort reads the number of the port, with which each channel begins.
func (f *forwarded) skipPort(length uint64) error {
	var port [2]byte
	if length != uint64(len(port)) {
		return errors.New("the cluster does not tell which port it forwards")
	}
	_, err := io.ReadFull(f.Conn, port[:])
	return err
}

func (f *forwarded) readError(length uint64) error {
	text := make([]byte, min(length, maxForwardError))
	if _, err := io.ReadFull(f.Conn, text); err != nil {
		return err
	}
	return fmt.Errorf("the cluster cannot forward the port: %s", text)
}

// Write implements net.Conn.
func (f *forwarded) Write(data []byte) (int, error) {
	written := 0
	for written < len(data) {
		part := data[written:min(len(data), written+maxWritten)]
		if err := f.writeFrame(opBinary, append([]byte{dataChannel}, part...)); err != nil {
			return written, err
		}
		written += len(part)
	}
	return written, nil
}

// writeFrame sends a frame. Clients have to mask frames, so that proxies which do not know the protocol take nothing in them for
// HTTP. What is sent here is TLS, so that any mask will do, and that of zeros needs no work.
func (f *forwarded) writeFrame(opcode byte, payload []byte) error {
	const final, masked = 0x80, 0x80
	frame := []byte{final | opcode}
	if len(payload) <= maxControl {
		frame = append(frame, masked|byte(len(payload)))
	} else {
		frame = binary.BigEndian.AppendUint16(append(frame, masked|126), uint16(len(payload)))
	}
	frame = append(frame, 0, 0, 0, 0)
	_, err := f.Conn.Write(append(frame, payload...))
	return err
}
