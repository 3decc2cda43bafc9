package memory

import "fmt"

// Role is who speaks in a message.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
	RoleDocument  Role = "document"
)

// ParseRole returns the role named by s; "" means user.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case "":
		return RoleUser, nil
	case RoleUser, RoleAssistant, RoleSystem, RoleTool, RoleDocument:
		return r, nil
	}
	return "", fmt.Errorf("unknown role of %d bytes: want user, assistant, system, tool or document", len(s))
}

// Authority is what a memory may be used for, given by the role of the message
// that establishes it and never by a model. Higher is stronger. It says nothing
// about truth. Source: design section 5; AuthMem-Bench role policy v1.
type Authority int8

// The authorities, weakest first. The zero value is no authority at all.
const (
	Unendorsed Authority = 1 // tool, document, shared
	Attested   Authority = 2 // assistant
	Authorized Authority = 3 // user, system
)

// Authority returns the authority that a message of this role can give.
func (r Role) Authority() Authority {
	switch r {
	case RoleUser, RoleSystem:
		return Authorized
	case RoleAssistant:
		return Attested
	}
	return Unendorsed
}

// String returns the word used in SQL, JSON and output.
func (a Authority) String() string {
	switch a {
	case Authorized:
		return "authorized"
	case Attested:
		return "attested"
	case Unendorsed:
		return "unendorsed"
	}
	return ""
}

// ParseAuthority is the inverse of String; "" is no authority.
func ParseAuthority(s string) (Authority, error) {
	switch s {
	case "":
		return 0, nil
	case "authorized":
		return Authorized, nil
	case "attested":
		return Attested, nil
	case "unendorsed":
		return Unendorsed, nil
	}
	return 0, fmt.Errorf("unknown authority of %d bytes: want authorized, attested or unendorsed", len(s))
}

// MarshalText writes the word, so that JSON shows it.
func (a Authority) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (a *Authority) UnmarshalText(b []byte) error {
	v, err := ParseAuthority(string(b))
	*a = v
	return err
}
