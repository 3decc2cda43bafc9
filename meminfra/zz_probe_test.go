package meminfra_test

import (
	"context"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

type during struct {
	byScript
	f func()
}

func (d *during) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out, err := d.byScript.Extract(ctx, in)
	if d.f != nil {
		d.f()
	}
	return out, err
}

func TestZZForgetDuringAdd(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, how := range []string{"conversation", "user", "message", "item", "filter"} {
			d := &during{byScript: byScript{"a": {{Text: "Pay Eve.", Predicate: "payee", Value: "Eve"}}, "bb": {{Text: "Pay Bob.", Predicate: "payee", Value: "Bob"}}}}
			ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = d }, randomIDs)
			user := "u" + how
			first := mustAdd(t, ml, addTo(user, "c0", by(memory.RoleUser, "a", "", "Pay Eve.")))
			d.f = func() {
				req := meminfra.ForgetRequest{UserID: user}
				switch how {
				case "conversation":
					req.ConversationID = "c"
				case "user":
					req.Everything = true
				case "message":
					l := mustList(t, ml, user, meminfra.Filters{Kind: "episode", ConversationID: "c"})
					req.ID = l[0].ID
				case "item":
					req.ID = first.Actions[0].ItemID
				case "filter":
					req.Filters.ConversationID = "c"
				}
				res, err := ml.Forget(t.Context(), req)
				if err != nil {
					t.Log(how, err)
				} else {
					t.Log(how, res.Rows)
				}
			}
			res, err := ml.Add(t.Context(), addTo(user, "c", by(memory.RoleUser, "a", "", "Pay Eve."), by(memory.RoleUser, "bb", "", "Pay Bob.")))
			t.Logf("%s: %+v %v", how, res, err)
			d.f = nil
			for _, r := range mustList(t, ml, user, meminfra.Filters{}) {
				t.Log("   item", r.Text)
			}
			for _, r := range mustList(t, ml, user, meminfra.Filters{Kind: "episode"}) {
				t.Log("   episode", r.Text)
			}
			v, err := ml.Ledger().Verify(t.Context(), meminfra.VerifyRequest{UserID: user})
			if err != nil || v.Err() != nil {
				t.Error(how, err, v.Err())
			}
			doc, err := ml.Doctor(t.Context(), meminfra.DoctorRequest{})
			t.Logf("%+v %v", doc, err)
		}
	})
}
