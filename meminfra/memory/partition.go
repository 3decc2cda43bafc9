package memory

import (
	"crypto/sha256"
	"encoding/hex"
)

// PartitionKind says who owns a partition.
type PartitionKind string

// The partition kinds. Every row belongs to exactly one partition; it is the
// unit of ownership, locking, indexing, ledger chaining and distribution.
const (
	PartitionUser            PartitionKind = "user"
	PartitionTeam            PartitionKind = "team"
	PartitionProject         PartitionKind = "project"
	PartitionTenantPublic    PartitionKind = "tenant-public"
	PartitionTenantDirectory PartitionKind = "tenant-directory"
	PartitionBase            PartitionKind = "base"
)

// DefaultTenant is the tenant used when none is configured.
const DefaultTenant = "default"

// Partition names a partition readably; its ID is computed, never looked up.
type Partition struct {
	Tenant string
	Kind   PartitionKind
	Name   string // user id, team id, project id; "" for the tenant-wide kinds
}

// ID returns the partition's id: a UUID (version 8, RFC 9562) made from
// SHA-256 over the length-prefixed tenant, kind and name, so two different
// triples never meet and no look-up is needed. Source: design section 4.
func (p Partition) ID() string {
	h := sha256.New()
	for _, part := range []string{p.Tenant, string(p.Kind), p.Name} {
		n := len(part)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)[:16]
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	s := hex.EncodeToString(sum)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
