package storagetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var snapshotTests = []test{
	{name: "all rows of one partition, as written", run: snapshotRows},
	{name: "one moment, while others write", run: snapshotMoment},
	{name: "the first error ends it", run: snapshotError},
	{name: "a partition that does not exist", run: snapshotNone},
	{name: "partitions of a tenant, and erased ones", run: partitionRows},
}

// fullPartition writes a row of every kind and returns its episodes and items.
func fullPartition(t *testing.T, s storage.Store, p memory.Partition) (episodes []memory.Episode, items []memory.Item) {
	t.Helper()
	episodes = putEpisodes(t, s, p, 2)
	for i, key := range []string{"user|uses|x", ""} {
		item, _ := putItem(t, s, p, fmt.Sprint("i", i+1), func(m *memory.Item, _ *memory.State) {
			m.FactKey = key
			m.Origins = []memory.Origin{{Kind: memory.OriginAgent, Name: "a"}}
			if i == 1 {
				m.DerivedFrom = []string{"i1"}
			}
		})
		items = append(items, item)
	}
	ctx := t.Context()
	commit(t, s, p, func(tx storage.Tx) error {
		check(t, tx.CloseStates(ctx, []string{"i1"}, at(20)))
		next := newState(tx, items[0], 2)
		next.SystemFrom = at(20)
		check(t, tx.InsertStates(ctx, []memory.State{next}))
		check(t, tx.InsertEvidence(ctx, []memory.Evidence{newEvidence("i1", 1, "e1"), newEvidence("i2", 1, "e2")}))
		check(t, tx.InsertConflicts(ctx, []memory.Conflict{{ItemID: "i2", OtherID: "i1", Reason: "r", Decision: "d-i2", At: at(3), Salt: []byte{5}}}))
		check(t, tx.PutExtractions(ctx, []memory.Extraction{{EpisodeID: "e2", Extractor: "x", Status: memory.ExtractionDone, UpdatedAt: at(1)},
			{EpisodeID: "e1", Extractor: "y", Status: memory.ExtractionEmpty, UpdatedAt: at(1)},
			{EpisodeID: "e1", Extractor: "x", Status: memory.ExtractionDone, UpdatedAt: at(1)}}))
		check(t, tx.InsertFeedback(ctx, []storage.Feedback{{ID: "f1", TraceID: "t1", Reward: -0.5, Key: "k", At: at(4), Salt: []byte{6}}}))
		check(t, tx.InsertGrants(ctx, []memory.Grant{{ID: "g1", Kind: memory.GrantTeamMember, Left: "team", Right: "u", At: at(1), By: "ada", Salt: []byte{7}}}))
		return tx.AppendEntries(ctx, []memory.Entry{newEntry(p, 1), newEntry(p, 2), newEntry(p, 3)})
	})
	return episodes, items
}

// read collects what an Each method streams.
func read[T any](t *testing.T, each func(context.Context, func(T, error) error) error) (list []T) {
	t.Helper()
	check(t, each(t.Context(), func(v T, bad error) error { list = append(list, v); return bad }))
	return list
}

func entriesAfter(snap storage.Snapshot, after int64) func(context.Context, func(memory.Entry, error) error) error {
	return func(ctx context.Context, fn func(memory.Entry, error) error) error {
		return snap.EachEntry(ctx, after, fn)
	}
}

func snapshotRows(t *testing.T, s storage.Store) {
	fullPartition(t, s, bob)
	episodes, items := fullPartition(t, s, ada)
	ctx := t.Context()
	check(t, s.Snapshot(ctx, ada.ID(), func(snap storage.Snapshot) error {
		same(t, "row", snap.Row(), storage.PartitionRow{Head: head(t, s, ada), Named: ada})
		for after := range 4 {
			var want []memory.Entry
			for seq := int64(after) + 1; seq <= 3; seq++ {
				want = append(want, newEntry(ada, seq))
			}
			same(t, fmt.Sprint("entries after ", after), read(t, entriesAfter(snap, int64(after))), want)
		}
		got := read(t, snap.EachEpisode)
		slices.SortFunc(got, func(x, y memory.Episode) int { return cmp.Compare(x.ID, y.ID) })
		same(t, "episodes", got, episodes)
		snapshotItems(t, snap, items)
		same(t, "extractions", ids(read(t, snap.EachExtraction), func(x memory.Extraction) string { return x.EpisodeID + x.Extractor }), []string{"e1x", "e1y", "e2x"})
		found, err := snap.Episodes(ctx, []string{"e2", "none"})
		check(t, err)
		same(t, "episodes by id", found, episodes[1:])
		decisions := read(t, snap.EachDecision)
		byID, err := snap.Decisions(ctx, ids(decisions, func(d memory.Decision) string { return d.ID }))
		check(t, err)
		same(t, "decisions by id", byID, decisions)
		feedback := read(t, snap.EachFeedback)
		same(t, "feedback", feedback, []storage.Feedback{{Partition: ada.ID(), ID: "f1", TraceID: "t1", Reward: -0.5, Key: "k", At: at(4),
			Change: snap.Row().Change, Salt: []byte{6}}})
		byFeedback, err := snap.Feedback(ctx, []string{"f1"})
		check(t, err)
		same(t, "feedback by id", byFeedback, feedback)
		grants := read(t, snap.EachGrant)
		same(t, "grants", len(grants), 1)
		same(t, "the team's partition", grants[0].TeamPartition, grants[0].Grant.TeamPartition(memory.DefaultTenant))
		strays, err := snap.Strays(ctx)
		same(t, "strays", strays, []string(nil))
		return err
	}))
}

// snapshotItems compares items and what belongs to them with what they are when
// read by id.
func snapshotItems(t *testing.T, snap storage.Snapshot, items []memory.Item) {
	t.Helper()
	want, err := snap.Items(t.Context(), []string{"i1", "i2"})
	check(t, err)
	rows := read(t, snap.EachItem)
	slices.SortFunc(rows, func(x, y storage.ItemRow) int { return cmp.Compare(x.ID, y.ID) })
	same(t, "items", len(rows), len(items))
	for i, row := range rows {
		text, key := sha256.Sum256([]byte(items[i].TextKey)), sha256.Sum256([]byte(items[i].FactKey))
		wantRow := storage.ItemRow{Item: stored(items[i]), TextHash: text[:]}
		if items[i].FactKey != "" {
			wantRow.FactKeyHash = key[:]
		}
		same(t, "item", row, wantRow)
		same(t, "item by id", want[i].Item, row.Item)
	}
	states := read(t, snap.EachState)
	slices.SortFunc(states, func(x, y memory.State) int { return cmp.Or(cmp.Compare(x.ItemID, y.ItemID), cmp.Compare(x.N, y.N)) })
	var wantStates []memory.State
	var wantEvidence []memory.Evidence
	for _, r := range want {
		for _, x := range r.States {
			x.FactKey = ""
			wantStates = append(wantStates, x)
		}
		for _, e := range r.Evidence {
			wantEvidence = append(wantEvidence, e.Evidence)
		}
	}
	same(t, "states", states, wantStates)
	same(t, "the closing", states[0].SystemTo, at(20))
	evidence := read(t, snap.EachEvidence)
	slices.SortFunc(evidence, func(x, y memory.Evidence) int { return cmp.Compare(x.ItemID, y.ItemID) })
	same(t, "evidence", evidence, wantEvidence)
	same(t, "conflicts", read(t, snap.EachConflict), want[0].Conflicts)
}

func snapshotMoment(t *testing.T, s storage.Store) {
	fullPartition(t, s, ada)
	check(t, s.Snapshot(t.Context(), ada.ID(), func(snap storage.Snapshot) error {
		before := snap.Row()
		commit(t, s, ada, func(tx storage.Tx) error {
			check(t, tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "later", "c", "later")}))
			return tx.AppendEntries(t.Context(), []memory.Entry{newEntry(ada, 4)})
		})
		same(t, "row", snap.Row(), before)
		same(t, "entries", len(read(t, entriesAfter(snap, 0))), 3)
		same(t, "episodes", len(read(t, snap.EachEpisode)), 2)
		return nil
	}))
}

func snapshotError(t *testing.T, s storage.Store) {
	fullPartition(t, s, ada)
	stop := errors.New("stop")
	err := s.Snapshot(t.Context(), ada.ID(), func(snap storage.Snapshot) error {
		seen := 0
		err := snap.EachEpisode(t.Context(), func(memory.Episode, error) error { seen++; return stop })
		wantErr(t, "a failing function", err, stop)
		same(t, "episodes seen", seen, 1)
		// Entries may be read while something else is.
		err = snap.EachEntry(t.Context(), 1, func(memory.Entry, error) error {
			same(t, "episodes within", len(read(t, snap.EachEpisode)), 2)
			return stop
		})
		same(t, "episodes after", len(read(t, snap.EachEpisode)), 2)
		return err
	})
	wantErr(t, "its error", err, stop)
}

func snapshotNone(t *testing.T, s storage.Store) {
	check(t, s.Snapshot(t.Context(), bob.ID(), func(snap storage.Snapshot) error {
		same(t, "row", snap.Row(), storage.PartitionRow{Head: storage.Head{Partition: bob.ID()}})
		same(t, "entries", len(read(t, entriesAfter(snap, 0))), 0)
		same(t, "items", len(read(t, snap.EachItem)), 0)
		return nil
	}))
	same(t, "head", head(t, s, bob), storage.Head{})
}

func partitionRows(t *testing.T, s storage.Store) {
	other := memory.Partition{Tenant: "other", Kind: memory.PartitionUser, Name: "ada"}
	for _, p := range []memory.Partition{ada, bob, other} {
		fullPartition(t, s, p)
	}
	row := func(p memory.Partition) storage.PartitionRow {
		return storage.PartitionRow{Head: head(t, s, p), Named: p}
	}
	want := []storage.PartitionRow{row(ada), row(bob)}
	slices.SortFunc(want, func(x, y storage.PartitionRow) int { return cmp.Compare(x.Partition, y.Partition) })
	got, err := s.Partitions(t.Context(), memory.DefaultTenant)
	check(t, err)
	same(t, "partitions", got, want)
	commit(t, s, other, func(tx storage.Tx) error {
		_, err := tx.Erase(t.Context(), storage.Erasure{ID: "x", At: at(9), All: true})
		return err
	})
	erased := row(other)
	erased.Named.Name = ""
	got, err = s.Partitions(t.Context(), other.Tenant)
	check(t, err)
	same(t, "one that was erased", got, []storage.PartitionRow{erased})
}
