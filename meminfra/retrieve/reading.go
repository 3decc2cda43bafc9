package retrieve

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Reading is a read begun: who asks, what he may read at this moment, and where
// the partitions he may read stand. It is for one call; rights are not kept.
type Reading struct {
	*Retriever
	Rights *access.Rights
	heads  map[string]storage.Head
	at     time.Time // when it began: what has expired by then is not there
}

// Begin opens a read for a user, in one round trip.
func (r *Retriever) Begin(ctx context.Context, userID string) (*Reading, error) {
	own, public := r.own(userID), r.partition(memory.PartitionTenantPublic, "")
	o, err := r.Store.Opening(ctx, storage.OpeningParams{
		Partitions: []string{own.ID(), public.ID()},
		Directory:  r.partition(memory.PartitionTenantDirectory, "").ID(),
		UserID:     userID,
	})
	if err != nil {
		return nil, err
	}
	now := r.Now()
	return &Reading{Retriever: r, Rights: access.At(userID, o.Grants, now), heads: o.Heads, at: now}, nil
}

func (r *Retriever) partition(kind memory.PartitionKind, name string) memory.Partition {
	return memory.Partition{Tenant: r.Tenant, Kind: kind, Name: name}
}

func (r *Retriever) own(userID string) memory.Partition {
	return r.partition(memory.PartitionUser, userID)
}

// Own is the partition of whoever asks.
func (rd *Reading) Own() memory.Partition { return rd.own(rd.Rights.User()) }

// Shared are the partitions of others' that he may read and that exist: those of
// his teams by id, then the public one.
func (rd *Reading) Shared() []memory.Partition {
	var list []memory.Partition
	add := func(p memory.Partition) {
		if _, exists := rd.heads[p.ID()]; exists {
			list = append(list, p)
		}
	}
	for _, team := range rd.Rights.Teams() {
		add(rd.partition(memory.PartitionTeam, team))
	}
	add(rd.partition(memory.PartitionTenantPublic, ""))
	return list
}

// Partitions are all that he may read: his own, then the shared ones.
func (rd *Reading) Partitions() []memory.Partition {
	return append([]memory.Partition{rd.Own()}, rd.Shared()...)
}

// view runs f on the partition's index, brought up to where the partition stood
// when the read began. A partition that does not exist is empty. It may run f
// several times: see index.Manager.View.
func (rd *Reading) view(ctx context.Context, partition string, f func(*index.View) error) error {
	return rd.Index.View(ctx, partition, rd.heads[partition].Change, f)
}

// Admits reports whether he may read an item, whatever its status: it came
// through his agents and resources alone, it is not another's preference, and
// it has not expired.
func (rd *Reading) Admits(i *memory.Item) bool {
	return !memory.Expired(i.ExpiresAt, rd.at) && rd.Rights.Through(i.Origins) && (i.Kind != memory.KindPreference || rd.Rights.Owns(i.Scope.UserID))
}

// AdmitsEpisode is Admits for an episode.
func (rd *Reading) AdmitsEpisode(e *memory.Episode) bool {
	return !memory.Expired(e.ExpiresAt, rd.at) && rd.through(e.AgentID, e.Source) && (rd.Rights.Owns(e.UserID) || !rd.IsPrivate(e))
}

// through reports whether he may see what came through an agent and a resource.
func (rd *Reading) through(agent, resource string) bool {
	return rd.Rights.Holds(agent) && rd.Rights.Reaches(resource)
}
