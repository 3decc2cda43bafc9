package storagetest

import (
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var gateTests = []test{
	{name: "items by value identity", run: itemsByValue},
	{name: "a confirmation is used once", run: confirmations},
	{name: "credits reach the index", run: credits},
}

func itemsByValue(t *testing.T, s storage.Store) {
	for id, value := range map[string]string{"i1": "oslo", "i2": "rome", "i3": "oslo", "i4": ""} {
		putItem(t, s, ada, id, func(i *memory.Item, _ *memory.State) { i.ValueID = value })
	}
	putItem(t, s, bob, "i1", func(i *memory.Item, _ *memory.State) { i.ValueID = "oslo" })
	for _, c := range []struct{ ask, want []string }{
		{[]string{"oslo"}, []string{"i1", "i3"}}, {[]string{"rome", "rome", "x'"}, []string{"i2"}}, {[]string{""}, nil},
		{[]string{"OSLO"}, nil}, {nil, nil},
	} {
		got, err := s.ItemsByValue(t.Context(), ada.ID(), c.ask)
		check(t, err)
		found := map[string]bool{}
		for _, r := range got {
			found[r.ID] = true
			same(t, "with its states", len(r.States), 1)
		}
		for _, id := range c.want {
			if !found[id] {
				t.Errorf("%v: %s is missing", c.ask, id)
			}
		}
		same(t, strings.Join(c.ask, ","), len(got), len(c.want))
		commit(t, s, ada, func(tx storage.Tx) error {
			within, err := tx.ItemsByValue(t.Context(), c.ask)
			same(t, "within a commit", within, got)
			return err
		})
	}
}

func confirmations(t *testing.T, s storage.Store) {
	want := storage.Confirmation{Partition: ada.ID(), ID: "c1", TokenHash: []byte{1, 0}, CallHash: []byte{2}, At: at(1), ExpiresAt: at(5)}
	put := func(p memory.Partition, c storage.Confirmation, expired time.Time) {
		commit(t, s, p, func(tx storage.Tx) error { return tx.PutConfirmation(t.Context(), c, expired) })
	}
	put(ada, want, at(0))
	put(bob, storage.Confirmation{ID: "c1", At: at(1), ExpiresAt: at(5)}, at(9))
	use := func(n int) (used bool) {
		commit(t, s, ada, func(tx storage.Tx) (err error) {
			used, err = tx.UseConfirmation(t.Context(), "c1", at(n))
			return err
		})
		return used
	}
	commit(t, s, ada, func(tx storage.Tx) error {
		got, err := tx.Confirmation(t.Context(), "c1")
		same(t, "every field", got, want)
		_, none := tx.Confirmation(t.Context(), "c2")
		wantErr(t, "an unknown one", none, storage.ErrNotFound)
		return err
	})
	same(t, "the first use", use(3), true)
	same(t, "the second use", use(4), false)
	commit(t, s, ada, func(tx storage.Tx) error {
		got, err := tx.Confirmation(t.Context(), "c1")
		same(t, "when it was used", got.UsedAt, at(3))
		return err
	})
	put(ada, storage.Confirmation{ID: "c2", At: at(6), ExpiresAt: at(9)}, at(6))
	commit(t, s, ada, func(tx storage.Tx) error {
		_, gone := tx.Confirmation(t.Context(), "c1")
		wantErr(t, "one that expired long ago", gone, storage.ErrNotFound)
		_, err := tx.Confirmation(t.Context(), "c2")
		return err
	})
}

func credits(t *testing.T, s storage.Store) {
	for _, id := range []string{"i1", "i2", "i3"} {
		putItem(t, s, ada, id, nil)
	}
	give := func(feedback string, reward float64, items ...string) {
		commit(t, s, ada, func(tx storage.Tx) error {
			f := storage.Feedback{ID: feedback, TraceID: "t", Reward: reward, Key: feedback, At: at(1), Salt: []byte{1}}
			check(t, tx.InsertFeedback(t.Context(), []storage.Feedback{f}))
			var list []storage.Credit
			for _, id := range items {
				list = append(list, storage.Credit{FeedbackID: feedback, ItemID: id, Reward: reward})
			}
			check(t, tx.InsertCredits(t.Context(), list))
			got, err := tx.Feedback(t.Context(), "t", feedback)
			same(t, "reward", got.Reward, reward)
			return err
		})
	}
	give("f1", 1, "i1", "i2")
	seen := changes(t, s, ada, 0).Head.Change
	give("f2", -0.5, "i1")
	give("f3", 0.25, "i1")
	counters := func(since int64) map[string]storage.Counters {
		out := map[string]storage.Counters{}
		for _, i := range changes(t, s, ada, since).Items {
			out[i.ID] = i.Counters
		}
		return out
	}
	i1 := storage.Counters{Successes: 1.25, Failures: 0.5, Uses: 3}
	same(t, "all", counters(0), map[string]storage.Counters{"i1": i1, "i2": {Successes: 1, Uses: 1}, "i3": {}})
	same(t, "what changed", counters(seen), map[string]storage.Counters{"i1": i1})
	commit(t, s, ada, func(tx storage.Tx) error {
		_, err := tx.Feedback(t.Context(), "t", "none")
		wantErr(t, "an unknown key", err, storage.ErrNotFound)
		return nil
	})
}
