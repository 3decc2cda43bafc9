package extract

import (
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Attributed returns how a memory drawn from m reads: what tools and documents
// say names its source, so that nobody takes it for the user's word. Text that
// does already stays as it is. Source: case A27.
func Attributed(m *Message, text string) string {
	var source string
	switch m.Role {
	case memory.RoleTool:
		source = strings.TrimSpace("tool " + m.Source)
	case memory.RoleDocument:
		source = strings.TrimSpace("document " + m.Source)
	default:
		return text
	}
	prefix := "According to " + source + ": "
	if strings.HasPrefix(text, prefix) {
		return text
	}
	return prefix + text
}
