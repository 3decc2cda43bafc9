package main

import (
	"strings"

	"github.com/meminfra/memory-layer/meminfra/ledger"
)

// ledgerKeys reads the key of the ledger, LEDGER_KEY, and those it had before,
// LEDGER_OLD_KEYS, separated by commas. Each is named by its hash.
func (a *app) ledgerKeys() (present ledger.Key, old []ledger.Key) {
	for _, secret := range strings.Split(a.getenv("LEDGER_OLD_KEYS"), ",") {
		if secret = strings.TrimSpace(secret); secret != "" {
			old = append(old, ledger.NewKey([]byte(secret)))
		}
	}
	return ledger.NewKey([]byte(strings.TrimSpace(a.getenv("LEDGER_KEY")))), old
}
