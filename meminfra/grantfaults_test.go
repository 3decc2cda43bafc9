package meminfra_test

import (
	"errors"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// A grant or revocation that breaks at any write is not there: neither its event
// nor its entry, and the same call then completes.
func TestGrantsBrokenAtEveryWrite(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		edge := meminfra.GrantRequest{UserID: "ada", AgentID: "p"}
		state := func() (events int, seq int64) {
			list, err := store.Grants(t.Context(), directory().ID(), storage.GrantParams{Kind: memory.GrantUserAgent})
			if err != nil {
				t.Fatal(err)
			}
			heads, err := store.Heads(t.Context(), directory().ID())
			if err != nil {
				t.Fatal(err)
			}
			return len(list), heads[directory().ID()].LedgerSeq
		}
		for name, act := range map[string]func(*meminfra.MemoryLayer) error{
			"grant": func(ml *meminfra.MemoryLayer) error { return second(ml.Grants().Grant(t.Context(), edge)) },
			"revoke": func(ml *meminfra.MemoryLayer) error {
				return second(ml.Grants().Revoke(t.Context(), meminfra.RevokeRequest(edge)))
			},
		} {
			if sound := newLayer(t, store, randomIDs); name == "grant" { // from where it writes
				_, _ = sound.Grants().Revoke(t.Context(), meminfra.RevokeRequest(edge))
			} else {
				mustGrant(t, sound, edge)
			}
			events, seq := state()
			for n := 1; ; n++ {
				broken := memtest.NewFailingStore(store, n, nil)
				err := act(newLayer(t, broken, randomIDs))
				nowEvents, nowSeq := state()
				if !broken.Failed() {
					if err != nil || n < 4 || nowEvents != events+1 || nowSeq != seq+1 {
						t.Errorf("%s, whole after %d writes: %v, %d events, entry %d", name, n-1, err, nowEvents, nowSeq)
					}
					break
				}
				if !errors.Is(err, memtest.ErrBroken) || nowEvents != events || nowSeq != seq {
					t.Fatalf("%s broken at write %d: %v, %d events and entry %d, before %d and %d", name, n, err, nowEvents, nowSeq, events, seq)
				}
			}
		}
		checkVerified(t, newLayer(t, store, randomIDs))
	})
}
