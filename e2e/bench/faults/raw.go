package faults

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// mostQueued connections are made to fill a queue that should hold one or two.
const mostQueued = 64

// fullAfter is how long a connection over the loopback must take to count as not accepted.
const fullAfter = 300 * time.Millisecond

// closePort takes an address at which nobody listens, and sees to it that nobody else does: it is this
// side's of a connection.
func (s *Server) closePort() error {
	listener, err := s.listen()
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, listener, conn)
	s.address, s.uncounted = conn.LocalAddr().String(), true
	return nil
}

// swallow lets the kernel drop what would open a connection: it does so with a listener whose queue is
// full, and from which nobody accepts.
func (s *Server) swallow() error {
	listener, err := s.listen()
	if err != nil {
		return err
	}
	s.closers, s.uncounted = append(s.closers, listener), true
	if err := shorten(listener); err != nil {
		return err
	}
	for range mostQueued {
		conn, err := net.DialTimeout("tcp", s.address, fullAfter)
		var problem net.Error
		if errors.As(err, &problem) && problem.Timeout() {
			return nil
		}
		if err != nil {
			return err
		}
		s.closers = append(s.closers, conn)
	}
	return fmt.Errorf("this system queues more than %d connections for a listener that asked for none", mostQueued)
}

// shorten leaves the queue of a listener as little room as there can be.
func shorten(listener *net.TCPListener) error {
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(descriptor uintptr) { failed = syscall.Listen(int(descriptor), 0) })
	return errors.Join(err, failed)
}

// accept takes connections, and leaves each to a function that ends with it.
func (s *Server) accept(serve func(net.Conn)) error {
	listener, err := s.listen()
	if err != nil {
		return err
	}
	s.closers = append(s.closers, listener)
	go func() {
		for {
			conn, err := counting{listener, s}.Accept()
			if err != nil {
				return // It was closed.
			}
			go func() {
				defer func() { _ = conn.Close() }() // Nothing was promised.
				serve(conn)
			}()
		}
	}()
	return nil
}

// drop reads everything and says nothing.
func (s *Server) drop(conn net.Conn) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn) // Until the client gives up.
	}()
	select {
	case <-ended:
	case <-s.closed:
	}
}

// drip begins the longest TLS handshake record there is (RFC 8446, 5.1), and sends it byte by byte.
func (s *Server) drip(conn net.Conn) {
	if _, err := conn.Write([]byte{22, 3, 3, 0x40, 0}); err != nil {
		return
	}
	for tick := time.NewTicker(dripEvery); ; {
		select {
		case <-s.closed:
			tick.Stop()
			return
		case <-tick.C:
		}
		// A ServerHello, type 2, as long as the record can be.
		if _, err := conn.Write([]byte{2}); err != nil {
			tick.Stop()
			return
		}
	}
}
