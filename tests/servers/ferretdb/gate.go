package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
)

// The gate admits one command at a time, over all connections, from request to reply.
//
// FerretDB 1 carries out `update` and `findAndModify` in two steps (internal/handler/msg_update.go
// and common/update.go of v1.24.0): it reads what matches the filter, and then writes the changed
// document by its _id alone. Between the two another command may change the document, so that two
// clients can both believe to have swapped the same value. MongoDB compares and swaps in one step,
// and Synergy relies on it; behind the gate FerretDB does too.
//
// A reply ends a command because FerretDB streams none: it answers `hello` without a
// topologyVersion, so no driver asks for a stream of them, and never sets moreToCome.
type gate struct {
	server string
	turn   sync.Locker
}

const (
	headerSize = 16
	largest    = 48 << 20 // bytes of a message, as MongoDB has it
	opMsg      = 2013
	moreToCome = 1 << 1
)

var errStream = errors.New("a stream of messages (moreToCome) does not fit through the gate")

func (g *gate) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go g.pass(client)
	}
}

// pass carries the commands of one client to the server and the replies back, until either leaves.
func (g *gate) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		log.Print(err)
		return
	}
	defer server.Close()
	for err == nil {
		err = g.command(client, server)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		log.Printf("%s: %s", client.RemoteAddr(), err)
	}
}

// command holds the turn only while the server works: a slow client keeps nobody waiting.
func (g *gate) command(client, server net.Conn) error {
	request, err := message(client)
	if err != nil {
		return err
	}
	reply, err := g.ask(server, request)
	if err != nil {
		return err
	}
	_, err = client.Write(reply)
	return err
}

func (g *gate) ask(server net.Conn, request []byte) ([]byte, error) {
	g.turn.Lock()
	defer g.turn.Unlock()
	if _, err := server.Write(request); err != nil {
		return nil, err
	}
	return message(server)
}

// message reads one whole message, whose first four bytes are its length.
func message(from net.Conn) ([]byte, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	length := int(binary.LittleEndian.Uint32(header))
	if length < headerSize || length > largest {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	whole := append(header, make([]byte, length-headerSize)...)
	if _, err := io.ReadFull(from, whole[headerSize:]); err != nil {
		return nil, err
	}
	if streams(whole) {
		return nil, errStream
	}
	return whole, nil
}

func streams(whole []byte) bool {
	return binary.LittleEndian.Uint32(whole[12:]) == opMsg &&
		len(whole) >= headerSize+4 &&
		binary.LittleEndian.Uint32(whole[headerSize:])&moreToCome != 0
}

// nobody is a lock that keeps nobody waiting.
type nobody struct{}

func (nobody) Lock()   {}
func (nobody) Unlock() {}
