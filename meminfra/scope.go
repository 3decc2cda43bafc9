package meminfra

import (
	"errors"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// Errors of shared scopes.
var (
	// ErrNotMember: only a present member reads and writes a team's memory. It
	// is the same for a team that does not exist.
	ErrNotMember = errors.New("not a member of the team")
	// ErrTwoScopes: what is remembered belongs to a team or to everybody, not both.
	ErrTwoScopes = errors.New("both a team and public")
)

// scope is the partition that a request means: the user's own, that of a team he
// is a member of, or the public one. Errors: ErrTwoScopes, ErrNotMember.
func (m *MemoryLayer) scope(rd *retrieve.Reading, team string, public bool) (memory.Partition, error) {
	switch {
	case team != "" && public:
		return memory.Partition{}, ErrTwoScopes
	case team != "" && !rd.Rights.MemberOf(team):
		return memory.Partition{}, ErrNotMember
	}
	return m.scopePartition(rd.Rights.User(), team, public), nil
}

// scopePartition names the partition of a scope.
func (m *MemoryLayer) scopePartition(user, team string, public bool) memory.Partition {
	switch {
	case team != "":
		return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionTeam, Name: team}
	case public:
		return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionTenantPublic}
	}
	return m.userPartition(user)
}
