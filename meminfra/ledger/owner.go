package ledger

import "github.com/meminfra/memory-layer/meminfra/memory"

// owner tells the rows of a partition from those of another. An entry does not
// name its partition, so rows and their chain can be moved together, and no hash
// shows it: who said a message, and whose an item is, does. Other rows are of
// these. A partition's id is a hash of its names, so one whose name was erased
// still knows its own.
type owner struct {
	named     memory.Partition
	partition string
	last      string // asked of last, as most rows say the same
	mine      bool
}

func (o *owner) is(name string) bool {
	if name == "" {
		return false
	}
	if name != o.last {
		p := memory.Partition{Tenant: o.named.Tenant, Kind: o.named.Kind, Name: name}
		o.last, o.mine = name, p.ID() == o.partition
	}
	return o.mine
}

// episode reports a message that belongs here: in a user's partition his own, in
// a shared one that of somebody. Which team it was said to it does not say.
func (o *owner) episode(e *memory.Episode) bool {
	switch o.named.Kind {
	case memory.PartitionUser:
		return o.is(e.UserID)
	case memory.PartitionTeam, memory.PartitionTenantPublic:
		return e.UserID != ""
	}
	return false
}

// item reports an item that belongs here: in a user's partition his own and
// private, in a team's one that somebody told this team, in the public one what
// somebody told everybody.
func (o *owner) item(i *memory.Item) bool {
	s := i.Scope
	switch o.named.Kind {
	case memory.PartitionUser:
		return s.Visibility == memory.VisibilityPrivate && s.TeamID == "" && o.is(s.UserID)
	case memory.PartitionTeam:
		return s.Visibility == memory.VisibilityTeam && s.UserID != "" && o.is(s.TeamID)
	case memory.PartitionTenantPublic:
		return s.Visibility == memory.VisibilityPublic && s.TeamID == "" && s.UserID != ""
	}
	return false
}

// row is episode or item; all other rows are of these.
func (o *owner) row(row any) bool {
	switch r := row.(type) {
	case *memory.Episode:
		return o.episode(r)
	case *memory.Item:
		return o.item(r)
	}
	return true
}
