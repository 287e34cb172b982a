// main.go - has the rfc2136 provider of external-dns add, change and remove
// records, as its controller does.
//
// usage: external_dns PORT ZONE KEY SECRET create|update|delete|list
//
// To build it (Go 1.27, and some gigabytes of modules), in a folder of its own:
//
//	go mod init external_dns
//	cp .../tests/peers/external_dns/main.go .
//	go get sigs.k8s.io/external-dns/provider/rfc2136@v0.23.0
//	go build
//
// tests/peers/test_update_clients.py runs it: in PATH, or where EXTERNAL_DNS
// says.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider/rfc2136"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	check(err)
	zone := os.Args[2]
	cfg := externaldns.NewConfig()
	cfg.RFC2136Host = []string{"127.0.0.1"}
	cfg.RFC2136Port = port
	cfg.RFC2136Zone = []string{zone}
	cfg.RFC2136TSIGKeyName = os.Args[3]
	cfg.RFC2136TSIGSecret = os.Args[4]
	cfg.RFC2136TSIGSecretAlg = "hmac-sha256"
	cfg.RFC2136AXFR = true
	cfg.RFC2136BatchChangeSize = 50
	p, err := rfc2136.New(context.Background(), cfg,
		endpoint.NewDomainFilter([]string{zone}))
	check(err)
	old := []*endpoint.Endpoint{
		endpoint.NewEndpointWithTTL("svc."+zone, "A", 60, "192.0.2.50",
			"192.0.2.51"),
		endpoint.NewEndpointWithTTL("svc."+zone, "TXT", 60,
			"\"heritage=external-dns,external-dns/owner=me\""),
	}
	changed := []*endpoint.Endpoint{
		endpoint.NewEndpointWithTTL("svc."+zone, "A", 120, "192.0.2.51",
			"192.0.2.52"),
		old[1],
	}
	changes := &plan.Changes{}
	switch os.Args[5] {
	case "create":
		changes.Create = old
	case "update":
		changes.UpdateOld, changes.UpdateNew = old, changed
	case "delete":
		changes.Delete = changed
	case "list":
		records, err := p.Records(context.Background())
		check(err)
		for _, r := range records {
			fmt.Println(r.DNSName, r.RecordType, r.RecordTTL, r.Targets)
		}
		return
	}
	check(p.ApplyChanges(context.Background(), changes))
}
