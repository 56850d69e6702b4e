package portforward

import (
	"io"
	"net"
	"strings"
	"testing"
)

// sayingFrames is a connection of which one end says what a test wants.
func sayingFrames(t *testing.T, says ...[]byte) *forwarded {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	go func() { _, _ = io.Copy(io.Discard, theirs) }() // What it is answered.
	go func() {
		for _, one := range says {
			if _, err := theirs.Write(one); err != nil {
				return
			}
		}
	}()
	return newForwarded(ours)
}

func frame(head byte, payload ...byte) []byte {
	return append([]byte{head, byte(len(payload))}, payload...)
}

func TestFramesThatAreNoPartOfAForwardedPortEndIt(t *testing.T) {
	const binaryFrame, ping, end = 0x82, 0x89, 0x88
	ports := [][]byte{frame(binaryFrame, dataChannel, 0xfb, 0x20), frame(binaryFrame, errorChannel, 0xfb, 0x20)}
	for name, test := range map[string]struct {
		says [][]byte
		read string
		hint string
	}{
		"data":                  {says: append(ports, frame(binaryFrame, dataChannel, 'h', 'i')), read: "hi"},
		"data after a ping":     {says: append(ports, frame(ping, 'x'), frame(binaryFrame, dataChannel, 'h', 'i')), read: "hi"},
		"an end":                {says: append(ports, frame(end)), hint: "EOF"},
		"an error":              {says: append(ports, frame(binaryFrame, errorChannel, 'n', 'o')), hint: "cannot forward the port: no"},
		"no port":               {says: [][]byte{frame(binaryFrame, dataChannel, 'h', 'i', '!')}, hint: "which port"},
		"another channel":       {says: append(ports, frame(binaryFrame, 7, 'x')), hint: "channel 7"},
		"nothing":               {says: append(ports, frame(binaryFrame)), hint: "no part of forwarding"},
		"a part":                {says: [][]byte{frame(0x02, dataChannel, 0, 0)}, hint: "in parts"},
		"a mask":                {says: [][]byte{{binaryFrame, 0x83, 0, 0, 0, 0, 0, 0, 0}}, hint: "masked"},
		"a long ping":           {says: [][]byte{{ping, 126, 1, 0}}, hint: "too long"},
		"an opcode of nobody":   {says: [][]byte{frame(0x83, 'x')}, hint: "no part of forwarding"},
		"a frame without end":   {says: [][]byte{{binaryFrame, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, dataChannel}}, hint: "which port"},
		"an error without end":  {says: append(ports, append([]byte{binaryFrame, 126, 0xff, 0xff, errorChannel}, make([]byte, maxForwardError)...)), hint: "cannot forward"},
		"a long frame is whole": {says: append(ports, append([]byte{binaryFrame, 126, 1, 1, dataChannel}, make([]byte, 256)...)), read: string(make([]byte, 256))},
	} {
		t.Run(name, func(t *testing.T) {
			conn := sayingFrames(t, test.says...)
			got := make([]byte, max(len(test.read), 1))
			_, err := io.ReadFull(conn, got)
			if test.read != "" && (err != nil || string(got) != test.read) {
				t.Errorf("read %q, %v", got, err)
			}
			if test.read == "" && (err == nil || !strings.Contains(err.Error(), test.hint)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
