package meminfra

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// isShared reports a partition that several users tell.
func isShared(p memory.Partition) bool {
	return p.Kind == memory.PartitionTeam || p.Kind == memory.PartitionTenantPublic
}

// forgetTold erases what a user told teams and everybody, in each of these
// partitions by itself.
func (m *MemoryLayer) forgetTold(ctx context.Context, userID string, c *Certificate) error {
	rows, err := m.store.Partitions(ctx, m.tenant)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Named.Tenant != m.tenant || !isShared(row.Named) {
			continue
		}
		if err := m.forgetShared(ctx, row.Named, ForgetRequest{UserID: userID, DryRun: c.DryRun}, c); err != nil {
			return err
		}
	}
	return nil
}

// forgetShared erases what the request selects among what the user told in a
// shared partition, and adds it to the certificate.
func (m *MemoryLayer) forgetShared(ctx context.Context, p memory.Partition, req ForgetRequest, c *Certificate) error {
	part := newCertificate(p.ID(), c.Selector, c.At, c.DryRun)
	var err error
	if c.Selector == byUser {
		err = m.eraseTold(ctx, p, req.UserID, part)
	} else {
		err = m.forgetSelected(ctx, p, req, part, req.UserID)
	}
	if err != nil || len(part.Rows) == 0 {
		return err
	}
	c.add(p, part)
	return m.forgetShown(ctx, part, c)
}

// eraseTold erases all that a user told in a shared partition, his keys included.
// Nothing is retold in his name.
func (m *MemoryLayer) eraseTold(ctx context.Context, p memory.Partition, userID string, c *Certificate) error {
	heads, err := m.store.Heads(ctx, c.Partition)
	if err != nil || len(heads) == 0 {
		return err
	}
	return m.erase(ctx, p, c, func(e *erasing) error {
		items, episodes, err := e.tx.Contributed(ctx, userID)
		if err != nil {
			return err
		}
		for _, id := range items {
			e.items[id] = true
		}
		e.addEpisodes(episodes)
		e.gone = userID
		return nil
	})
}

// forgetShown drops the traces of other users that showed what is erased: they
// hold fingerprints of sentences that were handed out.
func (m *MemoryLayer) forgetShown(ctx context.Context, part, c *Certificate) error {
	if part.DryRun {
		return nil
	}
	n, err := m.store.PruneShown(ctx, slices.Concat(part.Items, part.Episodes))
	if n > 0 {
		c.Rows["trace"] += n
	}
	return err
}

// add takes over what a shared partition lost.
func (c *Certificate) add(p memory.Partition, part *Certificate) {
	for table, n := range part.Rows {
		c.Rows[table] += n
	}
	c.Items = append(c.Items, part.Items...)
	c.Episodes = append(c.Episodes, part.Episodes...)
	c.Retold = append(c.Retold, part.Retold...)
	slices.Sort(c.Items)
	slices.Sort(c.Episodes)
	c.Tombstones += part.Tombstones
	lost := SharedErasure{Partition: part.Partition, Scope: string(memory.VisibilityPublic), Tombstones: part.Tombstones}
	if p.Kind == memory.PartitionTeam {
		lost.Scope, lost.TeamID = string(memory.VisibilityTeam), p.Name
	}
	if !c.DryRun {
		lost.LedgerSeq, lost.LedgerHash = part.LedgerSeq, part.LedgerHash
	}
	c.Shared = append(c.Shared, lost)
}

// addSaid marks messages: in shared memory those of the teller alone.
func (e *erasing) addSaid(list []memory.Episode) {
	for i := range list {
		if e.teller == "" || list[i].UserID == e.teller {
			e.episodes[list[i].ID] = true
		}
	}
}

// isKeyOfGone reports an idempotency key of whoever is forgotten: in a shared
// partition each member has his own.
func (e *erasing) isKeyOfGone(r *storage.IdempotencyRecord) bool {
	return e.gone != "" && strings.HasPrefix(r.Key, strconv.Itoa(len(e.gone))+":"+e.gone+":")
}

// tellers are whose items of a fact key an erasure took or took evidence from:
// each one's line is settled by itself, as it was told.
func (e *erasing) tellers(key string) []string {
	var list []string
	for _, r := range e.records {
		touched := e.items[r.ID] || len(e.left(r)) < len(r.Evidence)
		if r.FactKey == key && touched && !slices.Contains(list, r.Scope.UserID) {
			list = append(list, r.Scope.UserID)
		}
	}
	slices.Sort(list)
	return list
}

// withBatch shows stored items, and new ones of a fact key, as the commit under
// way leaves them.
func (w *batch) withBatch(key string, stored []storage.ItemRecord) []storage.ItemRecord {
	list := slices.Clone(stored)
	for _, item := range w.items {
		if item.FactKey == key {
			list = append(list, storage.ItemRecord{Item: item})
		}
	}
	for i := range list {
		for _, s := range w.states {
			if s.ItemID == list[i].ID {
				list[i].States = append(slices.Clone(list[i].States), s)
			}
		}
	}
	return list
}
