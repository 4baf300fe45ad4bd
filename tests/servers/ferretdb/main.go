// A MongoDB-compatible server for tests: FerretDB 1 with SQLite behind it, and a gate before it.
//
// It prints the URL to connect to, and ends on SIGTERM or when its standard input ends, so that
// it does not outlive the tests that started it.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where clients connect")
	data := flag.String("data", "", "an existing folder for the data")
	certificate := flag.String("certificate", "", "a file with certificate and key: clients must use TLS")
	ungated := flag.Bool("ungated", false, "let commands run at the same time, as FerretDB does by itself")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := serve(ctx, *listen, *data, *certificate, *ungated); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address, data, certificate string, ungated bool) error {
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: "file:" + strings.TrimSuffix(data, "/") + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	listener, err := listening(address, certificate)
	if err != nil {
		return err
	}
	var turn sync.Locker = new(sync.Mutex)
	if ungated {
		turn = nobody{}
	}
	behind := strings.Trim(strings.TrimPrefix(server.MongoDBURI(), "mongodb:"), "/")
	go (&gate{behind, turn}).serve(listener)
	fmt.Printf("mongodb://%s/\n", listener.Addr())
	return <-done
}

func listening(address, certificate string) (net.Listener, error) {
	if certificate == "" {
		return net.Listen("tcp", address)
	}
	pair, err := tls.LoadX509KeyPair(certificate, certificate)
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}})
}
