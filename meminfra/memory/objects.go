package memory

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
)

// AppendObjects writes objects as canonical JSON: the form that is hashed and
// stored.
func AppendObjects(b []byte, list []Object) []byte {
	b = append(b, '[')
	for i, o := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, objectDigest...)
		b = hex.AppendEncode(b, o.Digest)
		b = append(b, objectID...)
		b = AppendString(b, o.ID)
		b = append(b, objectKind...)
		b = AppendString(b, o.Kind)
		b = append(b, '}')
	}
	return append(b, ']')
}

const (
	objectDigest = `{"digest":"`
	objectID     = `","id":`
	objectKind   = `,"kind":`
)

var errObjects = errors.New("stored ledger objects are not in their canonical form")

// ParseObjects is the inverse of AppendObjects and takes nothing else, so that
// no two stored forms read the same.
func ParseObjects(s string) ([]Object, error) {
	rest, ok := strings.CutPrefix(s, "[")
	var list []Object
	for ok && rest != "]" {
		if len(list) > 0 {
			if rest, ok = strings.CutPrefix(rest, ","); !ok {
				break
			}
		}
		var o Object
		if o, rest, ok = cutObject(rest); ok {
			list = append(list, o)
		}
	}
	if !ok {
		return nil, errObjects
	}
	return list, nil
}

func cutObject(s string) (o Object, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, objectDigest); !ok {
		return o, "", false
	}
	digits, s, _ := strings.Cut(s, `"`)
	var err error
	if o.Digest, err = hex.DecodeString(digits); err != nil || strings.ToLower(digits) != digits {
		return o, "", false
	}
	if s, ok = strings.CutPrefix(s, objectID[1:]); !ok {
		return o, "", false
	}
	if o.ID, s, ok = cutString(s); !ok {
		return o, "", false
	}
	if s, ok = strings.CutPrefix(s, objectKind); !ok {
		return o, "", false
	}
	if o.Kind, s, ok = cutString(s); !ok {
		return o, "", false
	}
	rest, ok = strings.CutPrefix(s, "}")
	return o, rest, ok
}

// cutString reads a canonical JSON string off the front of s.
func cutString(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	end := 1
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", "", false
	}
	raw := s[:end+1]
	if strings.IndexByte(raw, '\\') < 0 {
		text = raw[1:end]
	} else if err := json.Unmarshal([]byte(raw), &text); err != nil {
		return "", "", false
	}
	return text, s[end+1:], string(AppendString(nil, text)) == raw
}
